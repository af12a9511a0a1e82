// SPDX-License-Identifier: GPL-2.0-only OR MIT
// TCP settings, and a sending socket that counts retransmissions.
#pragma once

#include "flows.h"
#include "options.h"

#include "ns3/node.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-base.h"

#include <fstream>
#include <optional>
#include <string>

namespace peer {

/// Sets ns-3's defaults for TCP; comes before the first node.
void ConfigureTcp(const Options& options);

/// TcpSocketBase that counts retransmissions and timeouts.
///
/// Overriding costs nothing, whereas the "Tx" trace source would make a call for each segment.
class SenderSocket : public ns3::TcpSocketBase {
  public:
    /// Creates a socket on `host` that counts into `result`, which must outlive the simulation.
    static ns3::Ptr<SenderSocket> Create(ns3::Ptr<ns3::Node> host, FlowResult& result);

    ns3::Ptr<ns3::TcpCongestionOps> CongestionControl() const { return m_congestionControl; }

  protected:
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    void SendEmptyPacket(uint8_t flags) override;
    void ReTxTimeout() override;

  private:
    FlowResult* m_result = nullptr;
    bool m_synSent = false;
};

/// Writes `time_ns,cwnd_bytes,alpha` whenever one of the two changes; alpha is empty unless DCTCP.
class CwndTrace {
  public:
    CwndTrace(const std::string& file, SenderSocket& socket);

  private:
    void OnCwnd(uint32_t before, uint32_t cwnd);
    void OnAlpha(uint32_t markedBytes, uint32_t ackedBytes, double alpha);
    void Write();

    std::ofstream m_output;
    uint32_t m_cwnd = 0;
    std::optional<double> m_alpha;
};

} // namespace peer
