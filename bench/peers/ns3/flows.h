// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The flow list: flows to replay, and their results.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace peer {

struct Flow {
    int64_t startNs;
    uint32_t src;
    uint32_t dst;
    uint64_t sizeBytes;
    uint16_t sport;
    uint16_t dport;
};

struct FlowResult {
    std::optional<int64_t> handshakeNs; // Connect() to connected, at the sender
    std::optional<int64_t> fctNs;       // Connect() to the last byte read by the receiver
    uint32_t retransmits = 0;           // data segments sent again, and SYNs
    uint32_t timeouts = 0;              // expiries of the retransmission timer with data waiting
    uint64_t deliveredBytes = 0;        // read by the receiver
};

/// Reads and checks a flow list; throws std::runtime_error that names the line.
std::vector<Flow> ReadFlows(const std::string& file, uint32_t hostCount);

/// Writes `flow,fct_ns,handshake_ns,retransmits,timeouts,delivered_bytes`; values that do not exist are left empty.
void WriteResults(std::ostream& output, const std::vector<FlowResult>& results);

/// Statistics of the finished flows [us]; empty if there are no such flows.
struct FctSummary {
    uint64_t finished = 0;
    std::optional<double> meanUs;
    std::optional<double> shortMeanUs; // size <= 100 KB
    std::optional<double> shortP99Us;  // the same flows, nearest rank
    std::optional<double> largeMeanUs; // size > 10 MB
};

FctSummary Summarize(const std::vector<Flow>& flows, const std::vector<FlowResult>& results);

} // namespace peer
