internal import Conformance

/// A generated customer history: a few users, their operations, and the faults of the event
/// deliveries.
///
/// A history contains only operations and faults. `LifeModel` derives the resulting events and user
/// states.
package struct Life: Hashable, Sendable {
    /// The way a backend first learns of a user.
    package enum Arrival: String, Hashable, Sendable, CaseIterable {
        /// The app registers the user before anything else happens.
        case registered
        /// The app does not register the user before the first event that names the user (S-20).
        case unknown
    }

    package struct Person: Hashable, Sendable {
        package var name: String
        package var arrival: Arrival

        package init(_ name: String, _ arrival: Arrival) {
            (self.name, self.arrival) = (name, arrival)
        }
    }

    /// A fault in the delivery of one of the events that an operation causes.
    ///
    /// The index of the event counts from 0 within the operation. Events that became due since the
    /// previous operation come first.
    package struct Mishap: Hashable, Sendable {
        package var act: Int
        package var event: Int
        package var disturbance: Disturbance

        package init(act: Int, event: Int, _ disturbance: Disturbance) {
            (self.act, self.event, self.disturbance) = (act, event, disturbance)
        }
    }

    package struct Step: Hashable, Sendable {
        /// The ID of the step, which stays the same when other steps are removed.
        package var id: Int
        package var act: Act
        /// Whether the backend's state of every user is read after the step and compared with the
        /// state that the model predicts.
        package var isQuietPoint: Bool

        package init(id: Int, act: Act, isQuietPoint: Bool) {
            (self.id, self.act, self.isQuietPoint) = (id, act, isQuietPoint)
        }
    }

    package var people: [Person]
    package var steps: [Step]
    package var mishaps: [Mishap]
    /// Whether the run is compared with a baseline run (the same history without faults), in
    /// addition to the model's predictions.
    ///
    /// The comparison covers effects, such as pushes, and complete responses.
    package var hasTwin: Bool

    package init(people: [Person], steps: [Step], mishaps: [Mishap] = [], hasTwin: Bool = false) {
        self.people = people
        self.steps = steps
        self.mishaps = mishaps
        self.hasTwin = hasTwin
    }

    /// The history without the faults that need a call to OneSignal or RevenueCat, which a backend
    /// may never make.
    package var withoutFailingCalls: Life {
        var life = self
        life.mishaps.removeAll { $0.disturbance.needsACall }
        return life
    }

    /// The number of steps and faults in the history.
    package var eventCount: Int { steps.count + mishaps.count }
}

extension Life {
    func person(_ name: String) -> Person? { people.first { $0.name == name } }

    /// Whether the history has any fault.
    var isDisturbed: Bool { !mishaps.isEmpty }

    /// Returns the part of the history up to and including a step, with the faults of that part.
    package func prefix(through id: Int) -> Life {
        guard let end = steps.firstIndex(where: { $0.id == id }) else { return self }
        var life = self
        life.steps = Array(steps[...end])
        let kept = Set(life.steps.map(\.id))
        life.mishaps.removeAll { !kept.contains($0.act) }
        let people = Set(life.steps.flatMap(\.act.people))
        life.people.removeAll { !people.contains($0.name) }
        life.hasTwin = false
        return life.withoutQuietPoints
    }
}
