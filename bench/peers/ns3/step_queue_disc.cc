// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "step_queue_disc.h"

#include "ns3/drop-tail-queue.h"
#include "ns3/object-factory.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace peer {

NS_OBJECT_ENSURE_REGISTERED(StepQueueDisc);

TypeId StepQueueDisc::GetTypeId() {
    static TypeId tid =
        TypeId("peer::StepQueueDisc")
            .SetParent<QueueDisc>()
            .AddConstructor<StepQueueDisc>()
            .AddAttribute("MaxSize",
                          "Largest queue",
                          QueueSizeValue(QueueSize("1000p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker())
            .AddAttribute("Threshold",
                          "Packets in the queue from which on an arriving packet is marked",
                          UintegerValue(65),
                          MakeUintegerAccessor(&StepQueueDisc::m_threshold),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

StepQueueDisc::StepQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE) {}

bool StepQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item) {
    const auto queue = GetInternalQueue(0);
    if (queue->GetNPackets() >= m_threshold) {
        Mark(item, kMark);
    }
    // A full queue refuses the packet; QueueDisc counts the drop.
    return queue->Enqueue(item);
}

Ptr<QueueDiscItem> StepQueueDisc::DoDequeue() {
    return GetInternalQueue(0)->Dequeue();
}

bool StepQueueDisc::CheckConfig() {
    if (GetNQueueDiscClasses() > 0 || GetNPacketFilters() > 0 || GetNInternalQueues() > 0) {
        return false;
    }
    AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
        "MaxSize", QueueSizeValue(GetMaxSize())));
    return true;
}

} // namespace peer
