internal import Contracts

/// A generated customer history: a few users, their operations, and the faults of the event
/// deliveries.
///
/// A history contains only operations and faults. `HistoryModel` derives the resulting events and user
/// states.
package struct CustomerHistory: Hashable, Sendable {
    /// The way a backend first learns of a user.
    package enum RegistrationStatus: String, Hashable, Sendable, CaseIterable {
        /// The app registers the user before anything else happens.
        case registered
        /// The app does not register the user before the first event that names the user (S-20).
        case unknown
    }

    package struct HistoryUser: Hashable, Sendable {
        package var name: String
        package var arrival: RegistrationStatus

        package init(_ name: String, _ arrival: RegistrationStatus) {
            (self.name, self.arrival) = (name, arrival)
        }
    }

    /// A fault in the delivery of one of the events that an operation causes.
    ///
    /// The index of the event counts from 0 within the operation. Events that became due since the
    /// previous operation come first.
    package struct PlacedFault: Hashable, Sendable {
        package var operation: Int
        package var event: Int
        package var fault: HistoryFault

        package init(operation: Int, event: Int, _ fault: HistoryFault) {
            (self.operation, self.event, self.fault) = (operation, event, fault)
        }
    }

    package struct Step: Hashable, Sendable {
        /// The ID of the step, which stays the same when other steps are removed.
        package var id: Int
        package var operation: HistoryOperation
        /// Whether the backend's state of every user is read after the step and compared with the
        /// state that the model predicts.
        package var readsStateAfterStep: Bool

        package init(id: Int, operation: HistoryOperation, readsStateAfterStep: Bool) {
            (self.id, self.operation, self.readsStateAfterStep) = (
                id, operation, readsStateAfterStep
            )
        }
    }

    package var users: [HistoryUser]
    package var steps: [Step]
    package var placedFaults: [PlacedFault]
    /// Whether the run is compared with a baseline run (the same history without faults), in
    /// addition to the model's predictions.
    ///
    /// The comparison covers effects, such as pushes, and complete responses.
    package var hasBaseline: Bool
    /// The sellers of the operations.
    package var sellers: SellerTable

    package init(
        users: [HistoryUser],
        steps: [Step],
        placedFaults: [PlacedFault] = [],
        hasBaseline: Bool = false,
        sellers: SellerTable = .all
    ) {
        self.users = users
        self.steps = steps
        self.placedFaults = placedFaults
        self.hasBaseline = hasBaseline
        self.sellers = sellers
    }

    /// A history of one purchase by a registered user, ten minutes before the run's base time.
    package static func singlePurchase(_ sellers: SellerTable) -> CustomerHistory {
        var operation = HistoryOperation(.purchase, "ada", at: .seconds(-600))
        operation.product = sellers.storeSeller.standardProduct
        return CustomerHistory(
            users: [HistoryUser("ada", .registered)],
            steps: [Step(id: 0, operation: operation, readsStateAfterStep: false)],
            hasBaseline: true,
            sellers: sellers
        )
    }

    /// The history without the faults that need a call to a provider, which a backend may never
    /// make.
    package var withoutProviderErrors: CustomerHistory {
        var history = self
        history.placedFaults.removeAll { $0.fault.needsProviderCall }
        return history
    }

    /// The number of steps and faults in the history.
    package var stepAndFaultCount: Int { steps.count + placedFaults.count }
}

extension CustomerHistory {
    func person(_ name: String) -> HistoryUser? { users.first { $0.name == name } }

    /// Whether the history has any fault.
    var hasFaults: Bool { !placedFaults.isEmpty }

    /// Returns the part of the history up to and including a step, with the faults of that part.
    package func prefix(through id: Int) -> CustomerHistory {
        guard let end = steps.firstIndex(where: { $0.id == id }) else { return self }
        var history = self
        history.steps = Array(steps[...end])
        let keptStepIDs = Set(history.steps.map(\.id))
        history.placedFaults.removeAll { !keptStepIDs.contains($0.operation) }
        let users = Set(history.steps.flatMap(\.operation.users))
        history.users.removeAll { !users.contains($0.name) }
        history.hasBaseline = false
        return history.withoutStateReadPoints
    }
}
