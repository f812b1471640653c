/// The key `concurrent-with`, for a delivery that is sent at the same time as the next step's
/// delivery or calls.
///
/// Source: defect X-04 of the identity rules: events of one user arrive in parallel, without a
/// guaranteed order.
extension Field where Owner == Delivery {
    static var withNext: Field {
        .wish(
            "concurrent-with",
            \.isWithNext,
            "next",
            "value of 'concurrent-with'",
            "Sends this delivery at the same time as the next step, which must be a delivery or a "
                + "call, on connections that are already open."
        )
    }
}

extension Contract {
    /// Reports errors in the use of `overlap` and of `concurrent-with: next`, such as a next step
    /// that cannot be concurrent.
    func checkOverlaps(_ reader: inout NodeReader) {
        let places = StepPlaces(reader.places)
        for (offset, list) in [(0, given), (given.count, steps)] {
            for (index, step) in list.enumerated() {
                guard case .deliver(let delivery) = step, delivery.isWithNext else { continue }
                let next = list.dropFirst(index + 1).first
                guard let problem = delivery.problem(beside: next, reader) else { continue }
                reader.fail(problem, at: places[offset + index] ?? location)
            }
        }
        let plan = RunPlan(steps: given + steps, users: [], observes: false)
        if expectation.overlapMin != nil, plan.moments.isEmpty {
            reader.fail(
                .conflict(
                    "'overlap' is expected, but no requests are sent together",
                    remedy: "Write 'together: true' or 'concurrent-with: next' in a delivery, or "
                        + "remove 'overlap'."
                ),
                at: location
            )
        }
        if case .orders = search, plan.deliveries.contains(where: \.isWithNext) {
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
    func checkTogether(at place: SourceLocation, _ reader: inout NodeReader) {
        if isTogether, times < 2 {
            reader.fail(
                .conflict(
                    "'together' needs at least two copies",
                    remedy: "Add 'times: 8', or remove 'together'."
                ),
                at: place
            )
        }
        if isTogether, disturbedCount > 0 {
            reader.fail(
                .conflict(
                    "'together' cannot be combined with faults",
                    remedy: "Remove 'together', or remove the faults."
                ),
                at: place
            )
        }
    }

    fileprivate func problem(beside next: Step?, _ reader: NodeReader) -> ContractError.Problem? {
        if isDisturbed(reader) {
            return .conflict(
                "'\(name)' has faults or is dropped, so it cannot be sent with the next step",
                remedy: "Remove 'concurrent-with: next', or remove the faults."
            )
        }
        switch next {
        case .deliver(let other) where other.isDisturbed(reader):
            return .conflict(
                "'\(other.name)' has faults or is dropped, so it cannot be sent with '\(name)'",
                remedy: "Remove 'concurrent-with: next', or remove the faults."
            )
        case .call(let calls) where calls.contains { $0.storeFails == true }:
            return .conflict(
                "a call with 'database-failure' cannot be sent with '\(name)'",
                remedy: "Remove 'concurrent-with: next', or remove 'database-failure'."
            )
        case .deliver, .call: return nil
        case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account, .phone,
            .killAtCall, .look, .pass, .restart, nil:
            return .conflict(
                "no delivery or call follows '\(name)', so nothing can be sent with it",
                remedy: "Add a 'deliver' or 'call' step after it, or remove 'concurrent-with'."
            )
        }
    }

    private func isDisturbed(_ reader: NodeReader) -> Bool {
        disturbedCount > 0 || isDropped || reader.crashes[name] != nil
    }
}

extension RunPlan {
    /// A group of requests that are sent to the backend at the same time, by the names of the
    /// deliveries and calls.
    package struct Moment: Hashable, Sendable {
        package var deliveries: [String] = []
        package var calls: [String] = []

        package init(deliveries: [String] = [], calls: [String] = []) {
            (self.deliveries, self.calls) = (deliveries, calls)
        }
    }

    /// All groups of two or more requests that are sent at the same time and include a delivery.
    package var moments: [Moment] {
        var moments: [Moment] = []
        var open: Moment?
        for step in steps {
            switch step {
            case .deliver(let delivery):
                var moment = open ?? Moment()
                moment.deliveries.append(delivery.name)
                open = delivery.isWithNext ? moment : nil
                if delivery.isWithNext { continue }
                if moment.deliveries.count > 1 || delivery.isTogether { moments.append(moment) }
            case .call(let calls):
                guard var moment = open else { continue }
                moment.calls = calls.map(\.name)
                moments.append(moment)
                open = nil
            case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account,
                .phone, .killAtCall, .look, .pass, .restart:
                open = nil
            }
        }
        return moments
    }
}
