// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "flows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace peer {
namespace {

constexpr uint64_t kShortBytes = 100'000;
constexpr uint64_t kLargeBytes = 10'000'000;
constexpr char kHeader[] = "start_ns,src,dst,size_bytes,sport,dport";

/// A line of a flow list, for messages.
struct Place {
    const std::string& file;
    std::size_t line;

    [[noreturn]] void Fail(const std::string& message) const {
        throw std::runtime_error(file + ":" + std::to_string(line) + ": " + message);
    }
};

uint64_t ParseField(const std::string& text, uint64_t smallest, uint64_t largest,
                    const char* name, const Place& place) {
    uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || next != end || value < smallest || value > largest) {
        place.Fail(std::string(name) + " is \"" + text + "\", not a number in " +
                   std::to_string(smallest) + ".." + std::to_string(largest));
    }
    return value;
}

Flow ParseFlow(const std::string& line, uint32_t hostCount, const Place& place) {
    std::array<std::string, 6> fields;
    std::istringstream stream(line);
    std::size_t count = 0;
    for (std::string field; std::getline(stream, field, ','); ++count) {
        if (count < fields.size()) {
            fields[count] = field;
        }
    }
    if (count != fields.size()) {
        place.Fail(std::to_string(count) + " fields, not " + std::to_string(fields.size()));
    }

    Flow flow{};
    flow.startNs = ParseField(fields[0], 0, INT64_MAX / 2, "start_ns", place);
    flow.src = ParseField(fields[1], 0, hostCount - 1, "src", place);
    flow.dst = ParseField(fields[2], 0, hostCount - 1, "dst", place);
    flow.sizeBytes = ParseField(fields[3], 1, UINT32_MAX / 2, "size_bytes", place);
    flow.sport = ParseField(fields[4], 1, UINT16_MAX, "sport", place);
    flow.dport = ParseField(fields[5], 1, UINT16_MAX, "dport", place);
    if (flow.src == flow.dst) {
        place.Fail("src and dst are both host " + std::to_string(flow.src));
    }
    return flow;
}

void StripCarriageReturn(std::string& line) {
    if (!line.empty() && line.back() == '\r') {
        line.pop_back();
    }
}

std::optional<double> Mean(const std::vector<double>& values) {
    if (values.empty()) {
        return std::nullopt;
    }
    return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

std::optional<double> NearestRank(std::vector<double> values, double quantile) {
    if (values.empty()) {
        return std::nullopt;
    }
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(std::ceil(quantile * values.size())) - 1];
}

} // namespace

std::vector<Flow> ReadFlows(const std::string& file, uint32_t hostCount) {
    std::ifstream input(file);
    if (!input) {
        throw std::runtime_error("cannot read " + file);
    }
    std::string line;
    std::getline(input, line);
    StripCarriageReturn(line);
    if (line != kHeader) {
        Place{file, 1}.Fail(std::string("the header is not ") + kHeader);
    }

    std::vector<Flow> flows;
    for (std::size_t number = 2; std::getline(input, line); ++number) {
        StripCarriageReturn(line);
        flows.push_back(ParseFlow(line, hostCount, Place{file, number}));
    }
    if (flows.empty()) {
        Place{file, 2}.Fail("no flows");
    }
    return flows;
}

void WriteResults(std::ostream& output, const std::vector<FlowResult>& results) {
    output << "flow,fct_ns,handshake_ns,retransmits,timeouts,delivered_bytes\n";
    const auto write = [&output](const std::optional<int64_t>& value) {
        if (value) {
            output << *value;
        }
        output << ',';
    };
    for (std::size_t flow = 0; flow < results.size(); ++flow) {
        output << flow << ',';
        write(results[flow].fctNs);
        write(results[flow].handshakeNs);
        output << results[flow].retransmits << ',' << results[flow].timeouts << ','
               << results[flow].deliveredBytes << '\n';
    }
}

FctSummary Summarize(const std::vector<Flow>& flows, const std::vector<FlowResult>& results) {
    std::vector<double> all;
    std::vector<double> shorts;
    std::vector<double> larges;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (!results[i].fctNs) {
            continue;
        }
        const double fctUs = *results[i].fctNs / 1e3;
        all.push_back(fctUs);
        if (flows[i].sizeBytes <= kShortBytes) {
            shorts.push_back(fctUs);
        } else if (flows[i].sizeBytes > kLargeBytes) {
            larges.push_back(fctUs);
        }
    }
    return {all.size(), Mean(all), Mean(shorts), NearestRank(shorts, 0.99), Mean(larges)};
}

} // namespace peer
