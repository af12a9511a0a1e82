// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "queue_meter.h"

#include "ns3/simulator.h"

#include <algorithm>

using namespace ns3;

namespace peer {

QueueMeter::QueueMeter(Ptr<Queue<Packet>> device, Ptr<QueueDisc> disc, Time from)
    : m_from(from),
      m_last(from) {
    device->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueMeter::OnLength, this));
    device->TraceConnectWithoutContext("Dequeue", MakeCallback(&QueueMeter::OnDeparture, this));
    device->TraceConnectWithoutContext("Drop", MakeCallback(&QueueMeter::OnDeviceDrop, this));
    if (disc) {
        disc->TraceConnectWithoutContext("PacketsInQueue",
                                         MakeCallback(&QueueMeter::OnLength, this));
        disc->TraceConnectWithoutContext("Mark", MakeCallback(&QueueMeter::OnMark, this));
        disc->TraceConnectWithoutContext("Drop", MakeCallback(&QueueMeter::OnDiscDrop, this));
    }
}

QueueMeter::Reading QueueMeter::Read(Time end) {
    Advance(end);
    auto reading = m_counts;
    reading.seconds = std::max((end - m_from).GetSeconds(), 0.0);
    if (reading.seconds > 0) {
        reading.meanPackets = m_packetSeconds / reading.seconds;
    }
    return reading;
}

bool QueueMeter::IsCounted() const {
    return Simulator::Now() >= m_from;
}

void QueueMeter::Advance(Time now) {
    if (now > m_last) {
        m_packetSeconds += static_cast<double>(m_packets) * (now - m_last).GetSeconds();
        m_last = now;
    }
}

void QueueMeter::OnLength(uint32_t before, uint32_t after) {
    Advance(Simulator::Now());
    m_packets += static_cast<int64_t>(after) - before;
}

void QueueMeter::OnDeparture(Ptr<const Packet> packet) {
    m_counts.departures += IsCounted();
    m_counts.departedBytes += IsCounted() ? packet->GetSize() : 0;
}

void QueueMeter::OnMark(Ptr<const QueueDiscItem>, const char*) {
    m_counts.marks += IsCounted();
}

void QueueMeter::OnDiscDrop(Ptr<const QueueDiscItem>) {
    m_counts.drops += IsCounted();
}

void QueueMeter::OnDeviceDrop(Ptr<const Packet>) {
    m_counts.drops += IsCounted();
}

} // namespace peer
