// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Hosts, switches, links and queues of a run.
#pragma once

#include "options.h"
#include "queue_meter.h"

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace peer {

class Network {
  public:
    /// Builds the topology of `options`, with IP and TCP on every node. TCP takes its defaults at
    /// this point, so ConfigureTcp comes first.
    explicit Network(const Options& options);

    ns3::Ptr<ns3::Node> Host(uint32_t index) const { return m_hosts.at(index); }

    /// Counts each packet as its last bit leaves a port. Costs a call per packet.
    void CountTransmissionsExactly();

    /// Writes `time_ns,packets` at each change of the queue to the receiver (incast only).
    void TraceBottleneck(const std::string& file);

    /// Measures the queue to the receiver (incast only) from a time on; costs a call per packet.
    std::unique_ptr<QueueMeter> MeasureBottleneck(ns3::Time from);

    /// Packets that finished leaving a NIC or a switch port. Unless counted exactly these are the
    /// packets that device queues gave out; they differ only if a run is cut off while packets
    /// are being sent, by at most one per port.
    uint64_t Transmissions() const;
    uint64_t Drops() const;
    uint64_t Marks() const;

  private:
    using Device = ns3::Ptr<ns3::PointToPointNetDevice>;

    /// The queues of a port.
    enum class Buffer { Unlimited, Limited, UnderQueueDisc };

    struct LinkEnd {
        ns3::Ptr<ns3::Node> node;
        Buffer buffer;
        ns3::Ipv4Address address; // 0.0.0.0 on a switch
    };

    void BuildIncast();
    void BuildLeafSpine();
    LinkEnd HostEnd(uint32_t index) const;
    LinkEnd SwitchEnd(ns3::Ptr<ns3::Node> sw) const;
    /// Links two nodes through the next port of each; returns the port of `b`.
    Device AddLink(const LinkEnd& a, const LinkEnd& b, uint64_t delayNs);
    Device AddPort(const LinkEnd& end, ns3::Ptr<ns3::PointToPointChannel> channel);
    uint32_t DeviceQueueLimit(Buffer buffer) const;
    void InstallQueueDisc(Device device);
    void OnTransmitted(ns3::Ptr<const ns3::Packet> packet);
    void OnQueueLength(uint32_t before, uint32_t packets);

    Options m_options;
    Buffer m_switchBuffer;
    std::vector<ns3::Ptr<ns3::Node>> m_hosts;
    std::vector<Device> m_devices;
    std::vector<ns3::Ptr<ns3::QueueDisc>> m_queueDiscs;
    Device m_bottleneck;
    std::ofstream m_queueTrace;
    bool m_countsExactly = false;
    uint64_t m_exactTransmissions = 0;
};

} // namespace peer
