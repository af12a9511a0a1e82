// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "options.h"

#include "ns3/command-line.h"
#include "ns3/queue-disc.h"
#include "ns3/type-id.h"

#include <map>
#include <sstream>
#include <stdexcept>

namespace peer {
namespace {

// Permitted words are in a map, so that an error can list them.
template <typename T>
T Choose(const std::string& option, const std::string& word,
         const std::map<std::string, T>& words) {
    if (const auto found = words.find(word); found != words.end()) {
        return found->second;
    }
    std::string known;
    for (const auto& [name, value] : words) {
        known += " " + name;
    }
    throw std::runtime_error("--" + option + "=" + word + " is not one of:" + known);
}

void Require(bool holds, const std::string& message) {
    if (!holds) {
        throw std::runtime_error(message);
    }
}

uint64_t ParseNumber(const std::string& option, const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    Require(digits && text.size() < 19, "--" + option + ": \"" + text + "\" is not a whole number");
    return std::stoull(text);
}

std::vector<uint64_t> ParseNumbers(const std::string& option, const std::string& list) {
    std::vector<uint64_t> numbers;
    std::istringstream fields(list);
    for (std::string field; std::getline(fields, field, ',');) {
        numbers.push_back(ParseNumber(option, field));
    }
    return numbers;
}

CwndTraceRequest ParseCwndTrace(const std::string& text) {
    const auto colon = text.find(':');
    Require(colon != std::string::npos && colon + 1 < text.size(),
            "--trace_cwnd=" + text + " is not FLOW:FILE");
    const auto flow = ParseNumber("trace_cwnd", text.substr(0, colon));
    return {static_cast<uint32_t>(flow), text.substr(colon + 1)};
}

constexpr char kInNs3[] = "ns3::";

bool IsNameInNs3(const std::string& word) {
    return word.rfind(kInNs3, 0) == 0;
}

/// A queue disc of ns-3 by its ns-3 name. Its attributes are ns-3's own options.
void CheckQueueDisc(const std::string& name) {
    ns3::TypeId type;
    Require(ns3::TypeId::LookupByNameFailSafe(name, &type) &&
                type.IsChildOf(ns3::QueueDisc::GetTypeId()),
            "--aqm=" + name + " is no queue disc of this ns-3");
    Require(type.HasConstructor(), "--aqm=" + name + " cannot be made");
}

void CheckIncast(Options& o, const std::string& delays) {
    Require(o.senders > 0, "--topology=incast needs --senders");
    o.delaysNs = ParseNumbers("delays_ns", delays);
    if (o.delaysNs.size() == 1) {
        o.delaysNs.assign(o.HostCount(), o.delaysNs.front());
    }
    Require(o.delaysNs.size() == o.HostCount(),
            "--delays_ns needs one value per host (senders, then the receiver: " +
                std::to_string(o.HostCount()) + "), or one value for all; got " +
                std::to_string(o.delaysNs.size()));
}

void CheckLeafSpine(const Options& o) {
    Require(o.leaves > 0 && o.spines > 0 && o.hostsPerLeaf > 0,
            "--topology=leaf-spine needs --leaves, --spines and --hosts_per_leaf");
    Require(!o.aqmOnReceiverPortOnly, "--aqm_ports=receiver needs --topology=incast");
    Require(o.traceQueueFile.empty(), "--trace_queue needs --topology=incast");
    Require(!o.measureFromSeconds, "--measure_from_s needs --topology=incast");
}

void CheckTransport(const Options& o) {
    const uint32_t packet = o.segmentBytes + 40 + (o.timestamps ? 12 : 0);
    Require(o.segmentBytes > 0 && packet <= 1500,
            "--segment=" + std::to_string(o.segmentBytes) + " makes IP packets of " +
                std::to_string(packet) + " bytes; the links carry 1500");
    Require(o.initialCwnd > 0 && o.delackCount > 0 && o.minRtoUs > 0,
            "--initial_cwnd, --delack_count and --min_rto_us must be positive");
    Require(o.bufferBytes >= 2 * o.segmentBytes, "--buffer_bytes holds less than two segments");
}

void CheckQueue(const Options& o) {
    Require(o.queuePackets > 0, "--queue_packets must be positive");
    // RedQueueDisc never marks with a queue of one packet, at any threshold.
    const uint32_t smallest = o.aqm == Aqm::Red ? 2 : 1;
    const bool hasThreshold = o.aqm == Aqm::Red || o.aqm == Aqm::Step;
    Require(!hasThreshold || o.kPackets >= smallest,
            "--k_packets must be at least " + std::to_string(smallest));
}

} // namespace

Options ParseOptions(int argc, char** argv) {
    Options o;
    std::string topology = "incast";
    std::string delays = "10000";
    uint64_t linkDelayNs = 10'000;
    std::string hostLinkDelayNs;
    std::string transport = "dctcp";
    std::string recovery = "prr";
    std::string aqm = "red";
    std::string aqmPorts = "all";
    std::string count = "derived";
    std::string scheduler = "priority";
    std::string traceCwnd;
    double measureFrom = -1.0;

    ns3::CommandLine cmd(__FILE__);
    cmd.Usage("Replays a flow list over TCP in ns-3 and reports flow completion times.");
    cmd.AddValue("flows", "CSV: start_ns,src,dst,size_bytes,sport,dport", o.flowsFile);
    cmd.AddValue("out", "CSV to write: flow,fct_ns,handshake_ns,retransmits,timeouts,delivered_bytes", o.outFile);
    cmd.AddValue("stop_s", "limit of simulated time [s]", o.stopSeconds);
    cmd.AddValue("measure_from_s", "incast: the bottleneck's queue is measured from here to --stop_s",
                 measureFrom);
    cmd.AddValue("count", "link transmissions: derived (queue counters) or exact (traced)", count);
    cmd.AddValue("scheduler", "event set of ns-3: priority, map, heap, calendar, list", scheduler);
    cmd.AddValue("trace_queue", "incast, CSV: time_ns,packets at the bottleneck", o.traceQueueFile);
    cmd.AddValue("trace_cwnd", "FLOW:FILE, CSV: time_ns,cwnd_bytes,alpha", traceCwnd);
    cmd.AddValue("topology", "incast or leaf-spine", topology);
    cmd.AddValue("rate_bps", "rate of every link [bit/s]", o.rateBps);
    cmd.AddValue("senders", "incast: number of senders N; host N receives", o.senders);
    cmd.AddValue("delays_ns", "incast: one-way delay of each host's link [ns]", delays);
    cmd.AddValue("leaves", "leaf-spine: number of leaves", o.leaves);
    cmd.AddValue("spines", "leaf-spine: number of spines", o.spines);
    cmd.AddValue("hosts_per_leaf", "leaf-spine: hosts at each leaf", o.hostsPerLeaf);
    cmd.AddValue("link_delay_ns", "leaf-spine: one-way delay of a link [ns]", linkDelayNs);
    cmd.AddValue("host_link_delay_ns", "leaf-spine: the same for host links", hostLinkDelayNs);
    cmd.AddValue("aqm", "switch ports: red, step (never drops not-ECT), none, or a queue disc like "
                        "ns3::CoDelQueueDisc with --ns3::CoDelQueueDisc::UseEcn=true",
                 aqm);
    cmd.AddValue("aqm_ports", "incast: all switch ports or receiver only", aqmPorts);
    cmd.AddValue("k_packets", "marking threshold", o.kPackets);
    cmd.AddValue("queue_packets", "limit of a switch port's queue", o.queuePackets);
    cmd.AddValue("transport", "dctcp, newreno-ecn (ECN*), newreno or cubic", transport);
    cmd.AddValue("recovery", "how a window comes down: prr (over a round trip) or classic (at once)",
                 recovery);
    cmd.AddValue("segment", "TCP payload per segment [bytes]", o.segmentBytes);
    cmd.AddValue("timestamps", "use TCP timestamps (12 bytes in each segment)", o.timestamps);
    cmd.AddValue("initial_cwnd", "initial window [segments]", o.initialCwnd);
    cmd.AddValue("delack_count", "segments per ACK", o.delackCount);
    cmd.AddValue("delack_timeout_us", "longest delay of an ACK [us]", o.delackTimeoutUs);
    cmd.AddValue("min_rto_us", "smallest RTO, also the first SYN timeout [us]", o.minRtoUs);
    cmd.AddValue("buffer_bytes", "send and receive buffer of a socket", o.bufferBytes);
    cmd.Parse(argc, argv);

    if (cmd.GetNExtraNonOptions() > 0) {
        throw std::runtime_error("unexpected argument: " + cmd.GetExtraNonOption(0));
    }
    Require(!o.flowsFile.empty(), "--flows is missing");
    Require(o.rateBps > 0 && o.stopSeconds > 0, "--rate_bps and --stop_s must be positive");
    Require(measureFrom < o.stopSeconds, "--measure_from_s must be before --stop_s");
    if (measureFrom >= 0) {
        o.measureFromSeconds = measureFrom;
    }

    o.topology =
        Choose<Topology>("topology", topology,
                         {{"incast", Topology::Incast}, {"leaf-spine", Topology::LeafSpine}});
    o.transport = Choose<Transport>("transport", transport,
                                    {{"dctcp", Transport::Dctcp},
                                     {"newreno-ecn", Transport::NewRenoEcn},
                                     {"newreno", Transport::NewReno},
                                     {"cubic", Transport::Cubic}});
    o.recovery = Choose<Recovery>("recovery", recovery,
                                  {{"prr", Recovery::Prr}, {"classic", Recovery::Classic}});
    if (IsNameInNs3(aqm)) {
        CheckQueueDisc(aqm);
        o.aqm = Aqm::Disc;
        o.queueDisc = aqm;
    } else {
        o.aqm = Choose<Aqm>("aqm", aqm,
                            {{"red", Aqm::Red}, {"step", Aqm::Step}, {"none", Aqm::None}});
    }
    o.aqmOnReceiverPortOnly =
        Choose<bool>("aqm_ports", aqmPorts, {{"all", false}, {"receiver", true}});
    o.countExactly = Choose<bool>("count", count, {{"derived", false}, {"exact", true}});
    o.scheduler = Choose<std::string>("scheduler", scheduler,
                                      {{"priority", "ns3::PriorityQueueScheduler"},
                                       {"map", "ns3::MapScheduler"},
                                       {"heap", "ns3::HeapScheduler"},
                                       {"calendar", "ns3::CalendarScheduler"},
                                       {"list", "ns3::ListScheduler"}});
    o.fabricDelayNs = linkDelayNs;
    o.hostDelayNs = hostLinkDelayNs.empty() ? linkDelayNs
                                            : ParseNumber("host_link_delay_ns", hostLinkDelayNs);
    if (!traceCwnd.empty()) {
        o.traceCwnd = ParseCwndTrace(traceCwnd);
    }

    if (o.topology == Topology::Incast) {
        CheckIncast(o, delays);
    } else {
        CheckLeafSpine(o);
    }
    CheckTransport(o);
    CheckQueue(o);
    return o;
}

} // namespace peer
