// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Command line of the ns-3 peer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace peer {

enum class Topology { Incast, LeafSpine };
enum class Transport { Dctcp, NewRenoEcn, NewReno, Cubic };
/// How a window is reduced: over a round trip (RFC 6937, as in Linux), or at once.
enum class Recovery { Prr, Classic };
enum class Aqm { Red, Step, Disc, None };

struct CwndTraceRequest {
    uint32_t flow;
    std::string file;
};

/// A run, complete and checked: every combination that ParseOptions returns can be built.
struct Options {
    std::string flowsFile;
    std::string outFile;
    double stopSeconds = 100.0;
    std::optional<double> measureFromSeconds;
    bool countExactly = false;
    std::string scheduler = "ns3::PriorityQueueScheduler";
    std::string traceQueueFile;
    std::optional<CwndTraceRequest> traceCwnd;

    Topology topology = Topology::Incast;
    uint64_t rateBps = 10'000'000'000;
    // Incast: hosts 0..senders-1 send, host `senders` receives; one delay per host.
    uint32_t senders = 0;
    std::vector<uint64_t> delaysNs;
    // Leaf-spine.
    uint32_t leaves = 0;
    uint32_t spines = 0;
    uint32_t hostsPerLeaf = 0;
    uint64_t fabricDelayNs = 10'000;
    uint64_t hostDelayNs = 10'000;

    Aqm aqm = Aqm::Red;
    std::string queueDisc; // Aqm::Disc: its name in ns-3
    bool aqmOnReceiverPortOnly = false;
    uint32_t kPackets = 167;
    uint32_t queuePackets = 600;

    Transport transport = Transport::Dctcp;
    Recovery recovery = Recovery::Prr;
    uint32_t segmentBytes = 1460;
    bool timestamps = false;
    uint32_t initialCwnd = 10;
    uint32_t delackCount = 1;
    uint64_t delackTimeoutUs = 1'000;
    uint64_t minRtoUs = 10'000;
    uint32_t bufferBytes = 1 << 20;

    uint32_t HostCount() const {
        return topology == Topology::Incast ? senders + 1 : leaves * hostsPerLeaf;
    }
};

/// Reads the command line; throws std::runtime_error that names the option at fault.
/// `--help` and unknown options end the program, as in every ns-3 program.
Options ParseOptions(int argc, char** argv);

} // namespace peer
