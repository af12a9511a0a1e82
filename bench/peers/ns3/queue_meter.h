// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Measures a port's queue, from a given time on.
#pragma once

#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"

#include <cstdint>
#include <optional>

namespace peer {

/// Packets that wait for a port, in its queue disc and in the device's queue below it, and their fates.
class QueueMeter {
  public:
    struct Reading {
        double seconds;
        std::optional<double> meanPackets; // over time
        uint64_t departures;               // packets that went to the line
        uint64_t departedBytes;            // with PPP's header
        uint64_t marks;
        uint64_t drops;
    };

    /// `disc` is null if there is only the device's queue.
    QueueMeter(ns3::Ptr<ns3::Queue<ns3::Packet>> device, ns3::Ptr<ns3::QueueDisc> disc,
               ns3::Time from);
    QueueMeter(const QueueMeter&) = delete;
    QueueMeter& operator=(const QueueMeter&) = delete;

    /// From the requested time until `end`.
    Reading Read(ns3::Time end);

  private:
    void OnLength(uint32_t before, uint32_t after);
    void OnDeparture(ns3::Ptr<const ns3::Packet> packet);
    void OnMark(ns3::Ptr<const ns3::QueueDiscItem> item, const char* reason);
    void OnDiscDrop(ns3::Ptr<const ns3::QueueDiscItem> item);
    void OnDeviceDrop(ns3::Ptr<const ns3::Packet> packet);
    bool IsCounted() const;
    /// Adds the time since the last change.
    void Advance(ns3::Time now);

    const ns3::Time m_from;
    ns3::Time m_last;
    int64_t m_packets = 0;
    double m_packetSeconds = 0;
    Reading m_counts{};
};

} // namespace peer
