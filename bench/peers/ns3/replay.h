// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Plays a flow list over TCP.
#pragma once

#include "flows.h"
#include "network.h"
#include "options.h"
#include "tcp.h"

#include "ns3/event-id.h"
#include "ns3/socket.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace peer {

/// One TCP connection per flow: opened at the flow's start, closed by the sender after its last
/// byte. The arguments must outlive the simulation.
///
/// The simulation ends when no events are left, or at options.stopSeconds even if flows are
/// unfinished.
class Replay {
  public:
    Replay(const Options& options, const std::vector<Flow>& flows, const Network& network);
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    const std::vector<FlowResult>& Results() const { return m_results; }
    int64_t LastFinishNs() const { return m_lastFinishNs; }

  private:
    using Socket = ns3::Ptr<ns3::Socket>;
    using Port = std::pair<uint32_t, uint16_t>; // host, TCP port

    struct Listener {
        Socket socket;
        std::map<Port, uint32_t> awaited; // flow by its sender's port
    };

    void ScheduleNextStart();
    void StartNext();
    void Listen(uint32_t flow);
    void Connect(uint32_t flow);
    void OnConnected(uint32_t flow, Socket socket);
    void OnWritable(uint32_t flow, Socket socket, uint32_t freeBytes);
    void OnAccepted(Port local, Socket socket, const ns3::Address& from);
    void OnReadable(uint32_t flow, Socket socket);
    void Finish(uint32_t flow);

    const Options& m_options;
    const std::vector<Flow>& m_flows;
    const Network& m_network;
    const uint32_t m_writeSegments; // least to write at a time, unless less is left
    std::vector<uint32_t> m_order; // flows by start time
    std::size_t m_started = 0;
    std::vector<uint64_t> m_unsent; // bytes not yet given to the socket, by flow
    std::vector<uint64_t> m_unread; // bytes not yet read by the receiver, by flow
    std::vector<FlowResult> m_results;
    std::map<Port, Listener> m_listeners;
    std::size_t m_finished = 0;
    int64_t m_lastFinishNs = 0;
    ns3::EventId m_cutOff;
    std::optional<CwndTrace> m_cwndTrace;
};

} // namespace peer
