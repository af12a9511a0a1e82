// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "replay.h"

#include "routing.h"

#include "ns3/abort.h"
#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/tcp-socket-factory.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

using namespace ns3;

namespace peer {
namespace {

// The application writes in pieces of whole segments, so that no segment spans two pieces (ns-3
// would copy it), and not for each ACK that frees a segment (an event each).
constexpr uint32_t kWriteSegments = 16;

[[noreturn]] void FailFlow(uint32_t flow, const std::string& message) {
    throw std::runtime_error("flow " + std::to_string(flow) + ": " + message);
}

} // namespace

Replay::Replay(const Options& options, const std::vector<Flow>& flows, const Network& network)
    : m_options(options),
      m_flows(flows),
      m_network(network),
      m_writeSegments(
          std::clamp(options.bufferBytes / options.segmentBytes / 2, 1U, kWriteSegments)),
      m_order(flows.size()),
      m_results(flows.size()) {
    for (const auto& flow : flows) {
        m_unsent.push_back(flow.sizeBytes);
        m_unread.push_back(flow.sizeBytes);
    }
    std::iota(m_order.begin(), m_order.end(), 0);
    std::stable_sort(m_order.begin(), m_order.end(), [&flows](uint32_t a, uint32_t b) {
        return flows[a].startNs < flows[b].startNs;
    });
    m_cutOff = Simulator::Schedule(Seconds(options.stopSeconds), [] { Simulator::Stop(); });
    ScheduleNextStart();
}

// Flows are scheduled one by one, to keep the event set small.
void Replay::ScheduleNextStart() {
    if (m_started < m_order.size()) {
        const auto start = NanoSeconds(m_flows[m_order[m_started]].startNs);
        Simulator::Schedule(start - Simulator::Now(), &Replay::StartNext, this);
    }
}

void Replay::StartNext() {
    const uint32_t flow = m_order[m_started++];
    Listen(flow);
    Connect(flow);
    ScheduleNextStart();
}

// A listener exists only while a flow waits for it: ns-3 searches a host's sockets one by one for
// each packet.
void Replay::Listen(uint32_t flow) {
    const auto& f = m_flows[flow];
    const Port local{f.dst, f.dport};
    auto& listener = m_listeners[local];
    if (!listener.socket) {
        const auto host = m_network.Host(f.dst);
        listener.socket = ns3::Socket::CreateSocket(host, TcpSocketFactory::GetTypeId());
        // To any address: ns-3 refuses a second socket at the same address and port, even if the
        // first is an accepted connection.
        NS_ABORT_IF(listener.socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), f.dport)) != 0);
        listener.socket->SetAcceptCallback(MakeNullCallback<bool, Socket, const Address&>(),
                                           MakeCallback(&Replay::OnAccepted, this, local));
        listener.socket->Listen();
    }
    listener.awaited[{f.src, f.sport}] = flow;
}

void Replay::Connect(uint32_t flow) {
    const auto& f = m_flows[flow];
    const auto socket = SenderSocket::Create(m_network.Host(f.src), m_results[flow]);
    if (socket->Bind(InetSocketAddress(HostAddress(f.src), f.sport)) != 0) {
        FailFlow(flow, "sport " + std::to_string(f.sport) + " is in use at host " +
                           std::to_string(f.src));
    }
    if (m_options.traceCwnd && m_options.traceCwnd->flow == flow) {
        m_cwndTrace.emplace(m_options.traceCwnd->file, *socket);
    }
    socket->SetConnectCallback(MakeCallback(&Replay::OnConnected, this, flow),
                               MakeNullCallback<void, Socket>());
    socket->SetSendCallback(MakeCallback(&Replay::OnWritable, this, flow));
    socket->Connect(InetSocketAddress(HostAddress(f.dst), f.dport));
}

void Replay::OnConnected(uint32_t flow, Socket) {
    // Next, the socket reports that it is writable.
    m_results[flow].handshakeNs = Simulator::Now().GetNanoSeconds() - m_flows[flow].startNs;
}

void Replay::OnWritable(uint32_t flow, Socket socket, uint32_t freeBytes) {
    auto& unsent = m_unsent[flow];
    const uint32_t segments = freeBytes / m_options.segmentBytes;
    if (unsent == 0 || (freeBytes < unsent && segments < m_writeSegments)) {
        return;
    }
    const uint64_t bytes = unsent <= freeBytes ? unsent : segments * m_options.segmentBytes;
    unsent -= bytes;
    socket->Send(Create<Packet>(bytes));
    if (unsent == 0) {
        socket->Close(); // takes effect after the buffered data
    }
}

void Replay::OnAccepted(Port local, Socket socket, const Address& from) {
    const auto remote = InetSocketAddress::ConvertFrom(from);
    const uint32_t src = remote.GetIpv4().Get() - HostAddress(0).Get();
    const auto listener = m_listeners.find(local);
    auto& awaited = listener->second.awaited;
    const auto found = awaited.find({src, remote.GetPort()});
    const uint32_t flow = found->second;
    awaited.erase(found);
    if (awaited.empty()) {
        listener->second.socket->Close();
        m_listeners.erase(listener);
    }

    socket->SetRecvCallback(MakeCallback(&Replay::OnReadable, this, flow));
    // At the end of the stream, so that ns-3 has acknowledged the FIN before.
    const auto close = [](Socket s) { Simulator::ScheduleNow(&ns3::Socket::Close, s); };
    socket->SetCloseCallbacks(Callback<void, Socket>(close), MakeNullCallback<void, Socket>());
}

void Replay::OnReadable(uint32_t flow, Socket socket) {
    auto& unread = m_unread[flow];
    const auto data = socket->Recv();
    if (!data || unread == 0) {
        return;
    }
    unread -= data->GetSize();
    m_results[flow].deliveredBytes += data->GetSize();
    if (unread == 0) {
        Finish(flow);
    }
}

void Replay::Finish(uint32_t flow) {
    m_lastFinishNs = Simulator::Now().GetNanoSeconds();
    m_results[flow].fctNs = m_lastFinishNs - m_flows[flow].startNs;
    if (++m_finished == m_flows.size()) {
        // Not Cancel(): a cancelled event still moves the clock.
        Simulator::Remove(m_cutOff);
    }
}

} // namespace peer
