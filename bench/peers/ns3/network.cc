// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "network.h"

#include "routing.h"
#include "step_queue_disc.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/object-factory.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/simulator.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

using namespace ns3;

namespace peer {
namespace {

/// Lets InternetStackHelper put FlowHashRouting on a node.
class FlowHashRoutingHelper : public Ipv4RoutingHelper {
  public:
    FlowHashRoutingHelper* Copy() const override { return new FlowHashRoutingHelper(*this); }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override {
        return CreateObject<FlowHashRouting>();
    }
};

Ptr<Node> CreateNode() {
    auto node = CreateObject<Node>();
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(FlowHashRoutingHelper());
    internet.Install(node);
    return node;
}

std::vector<Ptr<Node>> CreateNodes(uint32_t count) {
    std::vector<Ptr<Node>> nodes(count);
    std::generate(nodes.begin(), nodes.end(), CreateNode);
    return nodes;
}

FlowHashRouting& RoutingOf(Ptr<Node> node) {
    return *DynamicCast<FlowHashRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol());
}

/// Puts the device under IP by hand: Ipv4AddressHelper would add an FqCoDel queue disc to it.
void AddInterface(Ptr<Node> node, Ptr<NetDevice> device, Ipv4Address local) {
    const auto ipv4 = node->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(device);
    if (local != Ipv4Address::GetAny()) {
        ipv4->AddAddress(interface, Ipv4InterfaceAddress(local, Ipv4Mask::GetOnes()));
    }
    ipv4->SetUp(interface);
    RoutingOf(node).AddPort(device, local);
}

Ptr<Queue<Packet>> CreatePacketQueue(uint32_t maxPackets) {
    return CreateObjectWithAttributes<DropTailQueue<Packet>>(
        "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, maxPackets)));
}

/// RED reduced to a step: no averaging (QW), no probability between thresholds, no gentle slope.
void SetStepRed(TrafficControlHelper& helper, uint32_t kPackets, const QueueSizeValue& limit) {
    helper.SetRootQueueDisc("ns3::RedQueueDisc",
                            "MaxSize", limit,
                            "MinTh", DoubleValue(kPackets),
                            "MaxTh", DoubleValue(kPackets),
                            "QW", DoubleValue(1.0),
                            "LInterm", DoubleValue(1.0),
                            "Gentle", BooleanValue(false),
                            "UseEcn", BooleanValue(true),
                            "UseHardDrop", BooleanValue(false),
                            "MeanPktSize", UintegerValue(1500));
}

} // namespace

Network::Network(const Options& options)
    : m_options(options),
      m_switchBuffer(options.aqm == Aqm::None ? Buffer::Limited : Buffer::UnderQueueDisc) {
    for (uint32_t index = 0; index < options.HostCount(); ++index) {
        m_hosts.push_back(CreateNode());
        RoutingOf(m_hosts.back()).SetTable(std::vector<uint32_t>(options.HostCount(), 0), 0);
    }
    if (options.topology == Topology::Incast) {
        BuildIncast();
    } else {
        BuildLeafSpine();
    }
}

void Network::BuildIncast() {
    const auto sw = CreateNode();
    const uint32_t receiver = m_options.senders;
    std::vector<uint32_t> portOfHost;
    for (uint32_t host = 0; host <= receiver; ++host) {
        auto switchEnd = SwitchEnd(sw);
        if (m_options.aqmOnReceiverPortOnly && host != receiver) {
            switchEnd.buffer = Buffer::Unlimited;
        }
        m_bottleneck = AddLink(HostEnd(host), switchEnd, m_options.delaysNs[host]);
        portOfHost.push_back(host);
    }
    RoutingOf(sw).SetTable(std::move(portOfHost), 0);
}

void Network::BuildLeafSpine() {
    const uint32_t perLeaf = m_options.hostsPerLeaf;
    const auto leaves = CreateNodes(m_options.leaves);
    const auto spines = CreateNodes(m_options.spines);
    // The order of links is the order of ports: a leaf has its spines first, a spine its leaves.
    for (const auto& leaf : leaves) {
        for (const auto& spine : spines) {
            AddLink(SwitchEnd(spine), SwitchEnd(leaf), m_options.fabricDelayNs);
        }
    }
    for (uint32_t host = 0; host < m_hosts.size(); ++host) {
        AddLink(HostEnd(host), SwitchEnd(leaves[host / perLeaf]), m_options.hostDelayNs);
    }

    std::vector<uint32_t> leafOfHost;
    for (uint32_t host = 0; host < m_hosts.size(); ++host) {
        leafOfHost.push_back(host / perLeaf);
    }
    for (const auto& spine : spines) {
        RoutingOf(spine).SetTable(leafOfHost, 0);
    }
    for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
        std::vector<uint32_t> portOfHost(m_hosts.size(), FlowHashRouting::kUplink);
        for (uint32_t i = 0; i < perLeaf; ++i) {
            portOfHost[leaf * perLeaf + i] = m_options.spines + i;
        }
        RoutingOf(leaves[leaf]).SetTable(std::move(portOfHost), m_options.spines);
    }
}

Network::LinkEnd Network::HostEnd(uint32_t index) const {
    return {m_hosts[index], Buffer::Unlimited, HostAddress(index)};
}

Network::LinkEnd Network::SwitchEnd(Ptr<Node> sw) const {
    return {sw, m_switchBuffer, Ipv4Address::GetAny()};
}

Network::Device Network::AddLink(const LinkEnd& a, const LinkEnd& b, uint64_t delayNs) {
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(delayNs)));
    AddPort(a, channel);
    return AddPort(b, channel);
}

Network::Device Network::AddPort(const LinkEnd& end, Ptr<PointToPointChannel> channel) {
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(m_options.rateBps));
    device->SetQueue(CreatePacketQueue(DeviceQueueLimit(end.buffer)));
    device->Attach(channel);
    end.node->AddDevice(device);
    if (end.buffer == Buffer::UnderQueueDisc) {
        InstallQueueDisc(device);
    }
    AddInterface(end.node, device, end.address);
    m_devices.push_back(device);
    return device;
}

uint32_t Network::DeviceQueueLimit(Buffer buffer) const {
    switch (buffer) {
    case Buffer::Limited:
        return m_options.queuePackets;
    case Buffer::UnderQueueDisc:
        // As short as possible: the threshold does not see packets that wait here.
        return 1;
    case Buffer::Unlimited:
        break;
    }
    return std::numeric_limits<uint32_t>::max();
}

void Network::InstallQueueDisc(Device device) {
    // Flow control: the queue disc waits while the device's queue is full.
    auto flowControl = CreateObject<NetDeviceQueueInterface>();
    flowControl->GetTxQueue(0)->ConnectQueueTraces(device->GetQueue());
    device->AggregateObject(flowControl);

    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, m_options.queuePackets));
    TrafficControlHelper helper;
    if (m_options.aqm == Aqm::Disc) {
        helper.SetRootQueueDisc(m_options.queueDisc, "MaxSize", limit);
    } else if (m_options.aqm == Aqm::Red) {
        SetStepRed(helper, m_options.kPackets, limit);
    } else {
        helper.SetRootQueueDisc("peer::StepQueueDisc",
                                "MaxSize", limit,
                                "Threshold", UintegerValue(m_options.kPackets));
    }
    m_queueDiscs.push_back(helper.Install(device).Get(0));
}

void Network::CountTransmissionsExactly() {
    m_countsExactly = true;
    for (const auto& device : m_devices) {
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Network::OnTransmitted, this));
    }
}

void Network::OnTransmitted(Ptr<const Packet>) {
    ++m_exactTransmissions;
}

void Network::TraceBottleneck(const std::string& file) {
    m_queueTrace.open(file);
    if (!m_queueTrace) {
        throw std::runtime_error("cannot write " + file);
    }
    m_queueTrace << "time_ns,packets\n";
    const auto sink = MakeCallback(&Network::OnQueueLength, this);
    if (m_switchBuffer == Buffer::UnderQueueDisc) {
        m_queueDiscs.back()->TraceConnectWithoutContext("PacketsInQueue", sink);
    } else {
        m_bottleneck->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", sink);
    }
}

std::unique_ptr<QueueMeter> Network::MeasureBottleneck(Time from) {
    const bool hasDisc = m_switchBuffer == Buffer::UnderQueueDisc;
    return std::make_unique<QueueMeter>(m_bottleneck->GetQueue(),
                                        hasDisc ? m_queueDiscs.back() : nullptr, from);
}

void Network::OnQueueLength(uint32_t, uint32_t packets) {
    m_queueTrace << Simulator::Now().GetNanoSeconds() << ',' << packets << '\n';
}

uint64_t Network::Transmissions() const {
    if (m_countsExactly) {
        return m_exactTransmissions;
    }
    uint64_t packets = 0;
    for (const auto& device : m_devices) {
        const auto queue = device->GetQueue();
        packets += queue->GetTotalReceivedPackets() - queue->GetNPackets();
    }
    return packets;
}

uint64_t Network::Drops() const {
    uint64_t packets = 0;
    for (const auto& device : m_devices) {
        packets += device->GetQueue()->GetTotalDroppedPackets();
    }
    for (const auto& queueDisc : m_queueDiscs) {
        packets += queueDisc->GetStats().nTotalDroppedPackets;
    }
    return packets;
}

uint64_t Network::Marks() const {
    uint64_t packets = 0;
    for (const auto& queueDisc : m_queueDiscs) {
        packets += queueDisc->GetStats().nTotalMarkedPackets;
    }
    return packets;
}

} // namespace peer
