// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "tcp.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-cubic.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-linux-reno.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/uinteger.h"

#include <stdexcept>

using namespace ns3;

namespace peer {
namespace {

// Enough retries that a flow never gives up. ns-3 doubles the SYN timeout in an int, which limits SYNs.
constexpr uint32_t kDataRetries = 1000;
constexpr uint32_t kSynRetries = 20;
// Half of TIME_WAIT [s]: ports of closed connections become free soon.
constexpr double kMaxSegmentLifetime = 0.005;
// ns-3's 1 ms and 1 s suit wide-area paths; these are of the order of a datacenter's RTT.
constexpr uint64_t kClockGranularityUs = 100;
constexpr uint64_t kInitialRttUs = 100;

TypeId CongestionControlOf(Transport transport) {
    switch (transport) {
    case Transport::Dctcp:
        return TcpDctcp::GetTypeId();
    case Transport::Cubic:
        return TcpCubic::GetTypeId();
    default:
        return TcpLinuxReno::GetTypeId();
    }
}

TypeId RecoveryOf(Recovery recovery) {
    return recovery == Recovery::Prr ? TcpPrrRecovery::GetTypeId()
                                     : TcpClassicRecovery::GetTypeId();
}

} // namespace

void ConfigureTcp(const Options& options) {
    const auto set = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::" + name, value);
    };
    const bool ecn =
        options.transport == Transport::Dctcp || options.transport == Transport::NewRenoEcn;
    const TimeValue minRto(MicroSeconds(options.minRtoUs));

    set("TcpL4Protocol::SocketType", TypeIdValue(CongestionControlOf(options.transport)));
    set("TcpL4Protocol::RecoveryType", TypeIdValue(RecoveryOf(options.recovery)));
    set("TcpSocketBase::UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
    set("TcpSocketBase::Sack", BooleanValue(true));
    set("TcpSocketBase::WindowScaling", BooleanValue(true));
    set("TcpSocketBase::Timestamp", BooleanValue(options.timestamps));
    set("TcpSocketBase::MinRto", minRto);
    set("TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(kClockGranularityUs)));
    set("TcpSocketBase::MaxSegLifetime", DoubleValue(kMaxSegmentLifetime));
    set("RttEstimator::InitialEstimation", TimeValue(MicroSeconds(kInitialRttUs)));
    set("TcpSocket::SegmentSize", UintegerValue(options.segmentBytes));
    set("TcpSocket::InitialCwnd", UintegerValue(options.initialCwnd));
    set("TcpSocket::SndBufSize", UintegerValue(options.bufferBytes));
    set("TcpSocket::RcvBufSize", UintegerValue(options.bufferBytes));
    set("TcpSocket::DelAckCount", UintegerValue(options.delackCount));
    set("TcpSocket::DelAckTimeout", TimeValue(MicroSeconds(options.delackTimeoutUs)));
    set("TcpSocket::ConnTimeout", minRto);
    set("TcpSocket::ConnCount", UintegerValue(kSynRetries));
    set("TcpSocket::DataRetries", UintegerValue(kDataRetries));
    set("TcpSocket::TcpNoDelay", BooleanValue(true));
}

Ptr<SenderSocket> SenderSocket::Create(Ptr<Node> host, FlowResult& result) {
    // As TcpL4Protocol::CreateSocket, which can only make a TcpSocketBase.
    const auto tcp = host->GetObject<TcpL4Protocol>();
    const auto make = [&tcp](const std::string& attribute) {
        TypeIdValue type;
        tcp->GetAttribute(attribute, type);
        ObjectFactory factory;
        factory.SetTypeId(type.Get());
        return factory;
    };

    auto socket = CreateObject<SenderSocket>();
    socket->m_result = &result;
    socket->SetNode(host);
    socket->SetTcp(tcp);
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(make("SocketType").Create<TcpCongestionOps>());
    socket->SetRecoveryAlgorithm(make("RecoveryType").Create<TcpRecoveryOps>());
    return socket;
}

uint32_t SenderSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) {
    if (seq < m_tcb->m_highTxMark.Get()) {
        ++m_result->retransmits;
    }
    return TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
}

void SenderSocket::SendEmptyPacket(uint8_t flags) {
    if (flags & TcpHeader::SYN) {
        m_result->retransmits += m_synSent;
        m_synSent = true;
    }
    TcpSocketBase::SendEmptyPacket(flags);
}

void SenderSocket::ReTxTimeout() {
    // The timer also expires without data, e.g. if only the FIN is not acknowledged.
    if (m_state != CLOSED && m_state != TIME_WAIT && m_txBuffer->Size() > 0) {
        ++m_result->timeouts;
    }
    TcpSocketBase::ReTxTimeout();
}

CwndTrace::CwndTrace(const std::string& file, SenderSocket& socket)
    : m_output(file) {
    if (!m_output) {
        throw std::runtime_error("cannot write " + file);
    }
    m_output << "time_ns,cwnd_bytes,alpha\n";
    socket.TraceConnectWithoutContext("CongestionWindow", MakeCallback(&CwndTrace::OnCwnd, this));
    if (socket.CongestionControl()->TraceConnectWithoutContext(
            "CongestionEstimate", MakeCallback(&CwndTrace::OnAlpha, this))) {
        m_alpha = 1.0; // TcpDctcp's first value, which it does not report
    }
}

void CwndTrace::OnCwnd(uint32_t, uint32_t cwnd) {
    m_cwnd = cwnd;
    Write();
}

void CwndTrace::OnAlpha(uint32_t, uint32_t, double alpha) {
    m_alpha = alpha;
    Write();
}

void CwndTrace::Write() {
    m_output << Simulator::Now().GetNanoSeconds() << ',' << m_cwnd << ',';
    if (m_alpha) {
        m_output << *m_alpha;
    }
    m_output << '\n';
}

} // namespace peer
