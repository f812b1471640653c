/// Deliveries that are under way at the same moment as what the next step delivers or calls.
///
/// Source: identity rules, defect X-04: events of one user come in parallel, and no order is promised.
extension Field where Owner == Delivery {
    static var withNext: Field {
        .wish(
            "beside",
            \.isWithNext,
            "next",
            "partner",
            "It is released at the same moment as the next step, a delivery or a call, on "
                + "connections that are already open."
        )
    }
}

extension Contract {
    /// Whoever waits for the next step needs one that it can go out with.
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
                    "nothing in it is released together, so that nothing can overlap",
                    remedy: "Write 'together: true' or 'beside: next' in a delivery, or leave out "
                        + "'overlap'."
                ),
                at: location
            )
        }
        if case .orders = search, plan.deliveries.contains(where: \.isWithNext) {
            reader.fail(
                .conflict(
                    "what is under way at one moment has no order",
                    remedy: "Leave out 'beside: next', or 'orders'."
                ),
                at: location
            )
        }
    }
}

extension Delivery {
    /// Copies that are released together are several, and none is disturbed alone.
    func checkTogether(at place: SourceLocation, _ reader: inout NodeReader) {
        if isTogether, times < 2 {
            reader.fail(
                .conflict(
                    "one copy cannot be released together with others",
                    remedy: "Add 'times: 8', or leave out 'together'."
                ),
                at: place
            )
        }
        if isTogether, disturbedCount > 0 {
            reader.fail(
                .conflict(
                    "copies that are released together are not disturbed one by one",
                    remedy: "Leave out 'together', or what disturbs them."
                ),
                at: place
            )
        }
    }

    fileprivate func problem(beside next: Step?, _ reader: NodeReader) -> ContractError.Problem? {
        if isDisturbed(reader) {
            return .conflict(
                "'\(name)' is disturbed and cannot go out with the next step",
                remedy: "Leave out 'beside: next', or what disturbs it."
            )
        }
        switch next {
        case .deliver(let other) where other.isDisturbed(reader):
            return .conflict(
                "'\(other.name)' is disturbed and cannot go out with '\(name)'",
                remedy: "Leave out 'beside: next', or what disturbs it."
            )
        case .call(let calls) where calls.contains { $0.storeFails == true }:
            return .conflict(
                "a call whose store fails cannot go out with '\(name)'",
                remedy: "Leave out 'beside: next', or 'store-fails'."
            )
        case .deliver, .call: return nil
        case .register, .name, .createAccount, .provider, .request, .rotateKeys, .account, .phone,
            .killAtCall, .look, .pass, .restart, nil:
            return .conflict(
                "nothing follows that '\(name)' could go out with",
                remedy: "Let a 'deliver' or a 'call' follow it, or leave out 'beside: next'."
            )
        }
    }

    private func isDisturbed(_ reader: NodeReader) -> Bool {
        disturbedCount > 0 || isDropped || reader.crashes[name] != nil
    }
}

extension RunPlan {
    /// What is under way at one moment.
    package struct Moment: Hashable, Sendable {
        package var deliveries: [String] = []
        package var calls: [String] = []

        package init(deliveries: [String] = [], calls: [String] = []) {
            (self.deliveries, self.calls) = (deliveries, calls)
        }
    }

    /// The moments at which more than one request is released, a delivery among them.
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
