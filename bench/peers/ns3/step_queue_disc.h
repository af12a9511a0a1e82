// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Step marking without RED's other behaviour.
#pragma once

#include "ns3/queue-disc.h"

namespace peer {

/// FIFO that marks an ECT packet that finds at least Threshold packets queued.
///
/// RedQueueDisc with MinTh = MaxTh decides the same for ECT packets, but it *drops* a not-ECT
/// packet there, which kills the SYNs and ACKs of classic ECN long before the queue is full.
class StepQueueDisc : public ns3::QueueDisc {
  public:
    static constexpr const char* kMark = "Threshold reached";

    static ns3::TypeId GetTypeId();
    StepQueueDisc();

  private:
    bool DoEnqueue(ns3::Ptr<ns3::QueueDiscItem> item) override;
    ns3::Ptr<ns3::QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override {}

    uint32_t m_threshold = 0;
};

} // namespace peer
