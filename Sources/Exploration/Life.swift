internal import Conformance

/// A history of one to a handful of people, and what happens to the deliveries that tell of it.
///
/// A value: what follows from it, events and states, is worked out by `LifeModel`.
package struct Life: Hashable, Sendable {
    /// How a backend comes to know somebody.
    package enum Arrival: String, Hashable, Sendable, CaseIterable {
        /// The app registers them before anything else.
        case registered
        /// Nothing does before the first event that names them (S-20).
        case unknown
    }

    package struct Person: Hashable, Sendable {
        package var name: String
        package var arrival: Arrival

        package init(_ name: String, _ arrival: Arrival) {
            (self.name, self.arrival) = (name, arrival)
        }
    }

    /// A disturbance of the event that an act caused at that place, counted from 0: what became due
    /// since the act before it comes first.
    package struct Mishap: Hashable, Sendable {
        package var act: Int
        package var event: Int
        package var disturbance: Disturbance

        package init(act: Int, event: Int, _ disturbance: Disturbance) {
            (self.act, self.event, self.disturbance) = (act, event, disturbance)
        }
    }

    package struct Step: Hashable, Sendable {
        /// Stays the same when others are left out.
        package var id: Int
        package var act: Act
        /// The people are looked at after it, and have to have what the model says.
        package var isQuietPoint: Bool

        package init(id: Int, act: Act, isQuietPoint: Bool) {
            (self.id, self.act, self.isQuietPoint) = (id, act, isQuietPoint)
        }
    }

    package var people: [Person]
    package var steps: [Step]
    package var mishaps: [Mishap]
    /// Effects and whole answers are compared with the calm life's, beside what the model says.
    package var hasTwin: Bool

    package init(people: [Person], steps: [Step], mishaps: [Mishap] = [], hasTwin: Bool = false) {
        self.people = people
        self.steps = steps
        self.mishaps = mishaps
        self.hasTwin = hasTwin
    }

    /// Without the failures of calls that a backend may never make.
    package var withoutFailingCalls: Life {
        var life = self
        life.mishaps.removeAll { $0.disturbance.needsACall }
        return life
    }

    /// How many things happen in it, to people and to deliveries.
    package var eventCount: Int { steps.count + mishaps.count }
}

extension Life {
    func person(_ name: String) -> Person? { people.first { $0.name == name } }

    /// Whether anything happens to what tells of it.
    var isDisturbed: Bool { !mishaps.isEmpty }

    /// The life up to a step, with what disturbed it so far.
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
