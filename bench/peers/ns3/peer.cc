// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Replays a flow list over TCP in ns-3 and reports flow completion times. See README.md.

#include "flows.h"
#include "network.h"
#include "options.h"
#include "queue_meter.h"
#include "replay.h"
#include "tcp.h"

#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <sys/resource.h>

#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace peer {
namespace {

rusage Usage() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

double UserSeconds() {
    const auto time = Usage().ru_utime;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Prints one flat JSON object.
class JsonObject {
  public:
    explicit JsonObject(std::ostream& out)
        : m_out(out) {
        m_out << std::fixed << std::setprecision(6) << '{';
    }

    ~JsonObject() { m_out << "}\n"; }

    void Number(const char* key, uint64_t value) { Key(key) << value; }
    void Number(const char* key, double value) { Key(key) << value; }

    void Number(const char* key, const std::optional<double>& value) {
        Key(key);
        if (value) {
            m_out << *value;
        } else {
            m_out << "null";
        }
    }

    void Text(const char* key, const char* value) { Key(key) << '"' << value << '"'; }

  private:
    std::ostream& Key(const char* key) {
        m_out << (m_first ? "" : ", ") << '"' << key << "\": ";
        m_first = false;
        return m_out;
    }

    std::ostream& m_out;
    bool m_first = true;
};

struct Run {
    double cpuSeconds;
    uint64_t events;
    double simSeconds;
};

Run RunSimulation() {
    const double before = UserSeconds();
    ns3::Simulator::Run();
    const double after = UserSeconds();
    return {after - before, ns3::Simulator::GetEventCount(), ns3::Simulator::Now().GetSeconds()};
}

void Report(const Options& options, const std::vector<Flow>& flows, const Network& network,
            const Replay& replay, QueueMeter* meter, const Run& run) {
    const auto summary = Summarize(flows, replay.Results());
    uint64_t retransmits = 0;
    uint64_t timeouts = 0;
    for (const auto& result : replay.Results()) {
        retransmits += result.retransmits;
        timeouts += result.timeouts;
    }

    JsonObject json(std::cout);
    json.Number("flows", flows.size());
    json.Number("finished", summary.finished);
    json.Number("mean_fct_us", summary.meanUs);
    json.Number("short_mean_fct_us", summary.shortMeanUs);
    json.Number("short_p99_fct_us", summary.shortP99Us);
    json.Number("large_mean_fct_us", summary.largeMeanUs);
    json.Number("drops", network.Drops());
    json.Number("marks", network.Marks());
    json.Number("retransmits", retransmits);
    json.Number("rtos", timeouts);
    json.Number("link_transmissions", network.Transmissions());
    json.Text("link_transmissions_count", options.countExactly ? "exact" : "derived");
    if (meter) {
        const auto queue = meter->Read(ns3::Seconds(options.stopSeconds));
        json.Number("measured_seconds", queue.seconds);
        json.Number("queue_mean_packets", queue.meanPackets);
        json.Number("queue_departures", queue.departures);
        json.Number("queue_departed_bytes", queue.departedBytes);
        json.Number("queue_marks", queue.marks);
        json.Number("queue_drops", queue.drops);
    }
    json.Number("events", run.events);
    json.Number("sim_seconds", run.simSeconds);
    json.Number("last_finish_seconds", static_cast<double>(replay.LastFinishNs()) / 1e9);
    json.Number("run_cpu_seconds", run.cpuSeconds);
    json.Number("max_rss_mb", static_cast<double>(Usage().ru_maxrss) / 1024); // Linux: KiB
    json.Text("ns3_version", NS3_VERSION);
}

void Check(const std::ostream& output, const std::string& file) {
    if (!output) {
        throw std::runtime_error("cannot write " + file);
    }
}

void Main(int argc, char** argv) {
    const auto options = ParseOptions(argc, argv);
    const auto flows = ReadFlows(options.flowsFile, options.HostCount());
    if (options.traceCwnd && options.traceCwnd->flow >= flows.size()) {
        throw std::runtime_error("--trace_cwnd: there is no flow " +
                                 std::to_string(options.traceCwnd->flow));
    }

    // Opened before the run: a long run must not end in "cannot write".
    std::ofstream results;
    if (!options.outFile.empty()) {
        results.open(options.outFile);
        Check(results, options.outFile);
    }

    ns3::ObjectFactory scheduler;
    scheduler.SetTypeId(options.scheduler);
    ns3::Simulator::SetScheduler(scheduler);
    ConfigureTcp(options);

    Network network(options);
    if (options.countExactly) {
        network.CountTransmissionsExactly();
    }
    if (!options.traceQueueFile.empty()) {
        network.TraceBottleneck(options.traceQueueFile);
    }
    std::unique_ptr<QueueMeter> meter;
    if (options.measureFromSeconds) {
        meter = network.MeasureBottleneck(ns3::Seconds(*options.measureFromSeconds));
    }
    Replay replay(options, flows, network);

    const auto run = RunSimulation();
    if (results.is_open()) {
        WriteResults(results, replay.Results());
        Check(results.flush(), options.outFile);
    }
    Report(options, flows, network, replay, meter.get(), run);
    ns3::Simulator::Destroy();
}

} // namespace
} // namespace peer

int main(int argc, char** argv) {
    try {
        peer::Main(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "peer: " << error.what() << '\n';
        return 2;
    }
    return 0;
}
