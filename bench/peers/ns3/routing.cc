// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "routing.h"

#include "ns3/ipv4-route.h"
#include "ns3/ipv4.h"
#include "ns3/output-stream-wrapper.h"

#include <array>
#include <utility>

using namespace ns3;

namespace peer {
namespace {

constexpr uint32_t kHostNetwork = 0x0a000000; // 10.0.0.0

constexpr std::array<uint32_t, 256> MakeCrcTable() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) ? 0xedb88320 : 0);
        }
        table[byte] = crc;
    }
    return table;
}

constexpr auto kCrcTable = MakeCrcTable();

/// CRC-32 of IEEE 802.3, as zlib's crc32.
template <typename Byte, std::size_t N>
constexpr uint32_t Crc32(const std::array<Byte, N>& data) {
    uint32_t crc = UINT32_MAX;
    for (const Byte byte : data) {
        crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
    }
    return ~crc;
}

static_assert(Crc32(std::array<char, 9>{'1', '2', '3', '4', '5', '6', '7', '8', '9'}) == 0xcbf43926,
              "check value of CRC-32/ISO-HDLC");

/// Hash of source, destination, protocol and ports, in this order and in network byte order.
uint32_t FlowHash(const Packet& packet, const Ipv4Header& header) {
    std::array<uint8_t, 13> tuple;
    header.GetSource().Serialize(tuple.data());
    header.GetDestination().Serialize(tuple.data() + 4);
    tuple[8] = header.GetProtocol();
    // TCP begins with its two ports; parsing the header and its options would cost more.
    packet.CopyData(tuple.data() + 9, 4);
    return Crc32(tuple);
}

} // namespace

Ipv4Address HostAddress(uint32_t index) {
    return Ipv4Address(kHostNetwork + index + 1);
}

NS_OBJECT_ENSURE_REGISTERED(FlowHashRouting);

TypeId FlowHashRouting::GetTypeId() {
    static TypeId tid = TypeId("peer::FlowHashRouting")
                            .SetParent<Ipv4RoutingProtocol>()
                            .AddConstructor<FlowHashRouting>();
    return tid;
}

void FlowHashRouting::AddPort(Ptr<NetDevice> device, Ipv4Address local) {
    m_local = local;
    auto route = Create<Ipv4Route>();
    route->SetSource(local);
    // Point-to-point links: the next hop is the node at the other end.
    route->SetGateway(Ipv4Address::GetAny());
    route->SetOutputDevice(device);
    m_routes.push_back(route);
}

void FlowHashRouting::SetTable(std::vector<uint32_t> portOfHost, uint32_t uplinks) {
    m_portOfHost = std::move(portOfHost);
    m_uplinks = uplinks;
}

Ptr<Ipv4Route> FlowHashRouting::FindRoute(Ptr<const Packet> packet,
                                          const Ipv4Header& header) const {
    const uint32_t host = header.GetDestination().Get() - (kHostNetwork + 1);
    if (host >= m_portOfHost.size()) {
        return nullptr;
    }
    const uint32_t port = m_portOfHost[host];
    return m_routes[port == kUplink ? FlowHash(*packet, header) % m_uplinks : port];
}

Ptr<Ipv4Route> FlowHashRouting::RouteOutput(Ptr<Packet>,
                                            const Ipv4Header& header,
                                            Ptr<NetDevice>,
                                            Socket::SocketErrno& error) {
    // Only hosts send packets of their own, and a host has no uplinks to choose from.
    auto route = FindRoute(nullptr, header);
    error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
    return route;
}

bool FlowHashRouting::RouteInput(Ptr<const Packet> packet,
                                 const Ipv4Header& header,
                                 Ptr<const NetDevice> device,
                                 UnicastForwardCallback forward,
                                 MulticastForwardCallback,
                                 LocalDeliverCallback deliver,
                                 ErrorCallback) {
    if (header.GetDestination() == m_local) {
        deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
        return true;
    }
    const auto route = FindRoute(packet, header);
    if (!route) {
        return false;
    }
    forward(route, packet, header);
    return true;
}

void FlowHashRouting::PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit) const {
    for (std::size_t host = 0; host < m_portOfHost.size(); ++host) {
        *stream->GetStream() << HostAddress(host) << " port ";
        if (m_portOfHost[host] == kUplink) {
            *stream->GetStream() << "by hash\n";
        } else {
            *stream->GetStream() << m_portOfHost[host] << "\n";
        }
    }
}

void FlowHashRouting::DoDispose() {
    m_ipv4 = nullptr;
    m_routes.clear();
    Ipv4RoutingProtocol::DoDispose();
}

} // namespace peer
