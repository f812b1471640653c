internal import Grammar
internal import Values

/// The key `concurrent-with`, for a delivery that is sent at the same time as the next step's
/// delivery or calls.
///
/// Source: defect X-04 of the identity rules: events of one user arrive in parallel, without a
/// guaranteed order.
extension Field where Owner == Delivery {
    static var concurrentWithNext: Field {
        .switchWord(
            "concurrent-with",
            \.isConcurrentWithNext,
            "next",
            "value of 'concurrent-with'",
            "Sends this delivery at the same time as the next step, which must be a delivery or a "
                + "call, on connections that are already open."
        )
    }
}

extension Contract {
    /// Reports errors in the use of `overlap` and of `concurrent-with: next`, for example when the
    /// next step cannot be sent concurrently.
    func checkConcurrentRequests(_ reader: inout NodeReader) {
        let sourceLocations = StepLocations(reader.sourceLocations)
        for (offset, list) in [(0, given), (given.count, steps)] {
            for (index, step) in list.enumerated() {
                guard case .deliver(let delivery) = step, delivery.isConcurrentWithNext else {
                    continue
                }
                let next = list.dropFirst(index + 1).first
                guard let problem = delivery.problem(concurrentWith: next, reader) else { continue }
                reader.fail(problem, at: sourceLocations[offset + index] ?? location)
            }
        }
        let plan = RunPlan(steps: given + steps, users: [], observesFinalState: false)
        if expectation.concurrentRequestCountMin != nil, plan.concurrentRequests.isEmpty {
            reader.fail(
                .conflict(
                    "'overlap' is expected, but no requests are sent together",
                    remedy: "Write 'together: true' or 'concurrent-with: next' in a delivery, or "
                        + "remove 'overlap'."
                ),
                at: location
            )
        }
        if case .orders = search, plan.deliveries.contains(where: \.isConcurrentWithNext) {
            reader.fail(
                .conflict(
                    "'orders' cannot be combined with 'concurrent-with: next'",
                    remedy: "Remove one of them: concurrent deliveries have no order."
                ),
                at: location
            )
        }
    }
}

extension Delivery {
    /// Checks that a delivery with `together: true` has several copies and no faults.
    func checkConcurrentCopies(at deliveryLocation: SourceLocation, _ reader: inout NodeReader) {
        if sendsCopiesConcurrently, times < 2 {
            reader.fail(
                .conflict(
                    "'together' needs at least two copies",
                    remedy: "Add 'times: 8', or remove 'together'."
                ),
                at: deliveryLocation
            )
        }
        if sendsCopiesConcurrently, faultyAttemptCount > 0 {
            reader.fail(
                .conflict(
                    "'together' cannot be combined with faults",
                    remedy: "Remove 'together', or remove the faults."
                ),
                at: deliveryLocation
            )
        }
    }

    fileprivate func problem(concurrentWith next: Step?, _ reader: NodeReader) -> ContractError
        .Problem?
    {
        if isFaultyOrDropped(reader) {
            return .conflict(
                "'\(name)' has faults or is dropped, so it cannot be sent with the next step",
                remedy: "Remove 'concurrent-with: next', or remove the faults."
            )
        }
        switch next {
        case .deliver(let other) where other.isFaultyOrDropped(reader):
            return .conflict(
                "'\(other.name)' has faults or is dropped, so it cannot be sent with '\(name)'",
                remedy: "Remove 'concurrent-with: next', or remove the faults."
            )
        case .call(let calls) where calls.contains { $0.hasDatabaseFailure == true }:
            return .conflict(
                "a call with 'database-failure' cannot be sent with '\(name)'",
                remedy: "Remove 'concurrent-with: next', or remove 'database-failure'."
            )
        case .deliver, .call: return nil
        case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account, .phone,
            .killAtCall, .probe, .waitForEnd, .restart, nil:
            return .conflict(
                "no delivery or call follows '\(name)', so nothing can be sent with it",
                remedy: "Add a 'deliver' or 'call' step after it, or remove 'concurrent-with'."
            )
        }
    }

    private func isFaultyOrDropped(_ reader: NodeReader) -> Bool {
        faultyAttemptCount > 0 || isNeverDelivered || reader.crashesByDelivery[name] != nil
    }
}

extension RunPlan {
    /// A group of requests that are sent to the backend at the same time, by the names of the
    /// deliveries and calls.
    package struct ConcurrentRequests: Hashable, Sendable {
        package var deliveries: [String] = []
        package var calls: [String] = []

        package init(deliveries: [String] = [], calls: [String] = []) {
            (self.deliveries, self.calls) = (deliveries, calls)
        }
    }

    /// All groups of two or more requests that are sent at the same time and include a delivery.
    package var concurrentRequests: [ConcurrentRequests] {
        var concurrentRequests: [ConcurrentRequests] = []
        var openGroup: ConcurrentRequests?
        for step in steps {
            switch step {
            case .deliver(let delivery):
                var group = openGroup ?? ConcurrentRequests()
                group.deliveries.append(delivery.name)
                openGroup = delivery.isConcurrentWithNext ? group : nil
                if delivery.isConcurrentWithNext { continue }
                if group.deliveries.count > 1 || delivery.sendsCopiesConcurrently {
                    concurrentRequests.append(group)
                }
            case .call(let calls):
                guard var group = openGroup else { continue }
                group.calls = calls.map(\.name)
                concurrentRequests.append(group)
                openGroup = nil
            case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account,
                .phone, .killAtCall, .probe, .waitForEnd, .restart:
                openGroup = nil
            }
        }
        return concurrentRequests
    }
}
