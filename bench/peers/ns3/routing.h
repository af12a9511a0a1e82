// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Forwarding by destination host, with per-flow ECMP.
#pragma once

#include "ns3/ipv4-address.h"
#include "ns3/ipv4-routing-protocol.h"

#include <cstdint>
#include <vector>

namespace peer {

/// Address of host `index`: 10.0.0.0 + index + 1.
ns3::Ipv4Address HostAddress(uint32_t index);

/// Forwards to a port fixed per destination host, or to an uplink chosen by the flow's hash.
///
/// ns-3.37 spreads over equal paths per packet or not at all; this class exists for the flow hash.
/// It is also much cheaper than Ipv4GlobalRouting, which searches a list of routes per packet.
class FlowHashRouting : public ns3::Ipv4RoutingProtocol {
  public:
    /// In a table: any uplink, by hash.
    static constexpr uint32_t kUplink = UINT32_MAX;

    static ns3::TypeId GetTypeId();

    /// Adds the next port. `local` is the node's address, or 0.0.0.0 on a switch.
    void AddPort(ns3::Ptr<ns3::NetDevice> device, ns3::Ipv4Address local);

    /// Sets the port (or kUplink) of each host; the first `uplinks` ports are the uplinks.
    void SetTable(std::vector<uint32_t> portOfHost, uint32_t uplinks);

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice> device,
                                         ns3::Socket::SocketErrno& error) override;
    bool RouteInput(ns3::Ptr<const ns3::Packet> packet,
                    const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback forwardMulticast,
                    LocalDeliverCallback deliver,
                    ErrorCallback error) override;
    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override { m_ipv4 = ipv4; }
    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper> stream,
                           ns3::Time::Unit unit) const override;

    // The table is static: links do not fail and addresses do not change.
    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override {}

  protected:
    void DoDispose() override;

  private:
    ns3::Ptr<ns3::Ipv4Route> FindRoute(ns3::Ptr<const ns3::Packet> packet,
                                       const ns3::Ipv4Header& header) const;

    ns3::Ptr<ns3::Ipv4> m_ipv4;
    ns3::Ipv4Address m_local;
    // One immutable route per port, shared by all packets that leave there.
    std::vector<ns3::Ptr<ns3::Ipv4Route>> m_routes;
    std::vector<uint32_t> m_portOfHost;
    uint32_t m_uplinks = 0;
};

} // namespace peer
