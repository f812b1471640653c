package import Conformance

/// A fault in the delivery of a webhook event.
///
/// A correct backend reaches the same final state as without the fault.
///
/// Source: identity rules S-03, S-04, S-07, S-08, S-09, S-30; RevenueCat fact sheet, sections 1.4
/// and 1.5: deliveries arrive at least once, in no guaranteed order, and repeatedly until a 200.
package enum Disturbance: Hashable, Sendable {
    /// The event is delivered this many additional times, one after the other.
    case copies(Int)
    /// The event is delivered this many additional times, all at the same time.
    case together(Int)
    /// The event is delivered again after this many other deliveries, with the same bytes. In
    /// combination with `shuffled`, the second delivery has other bytes.
    case again(after: Int)
    /// The event arrives after this many deliveries of events that happened later.
    case late(by: Int)
    /// The responses to the first attempts are lost, and RevenueCat's retry schedule delivers the
    /// event again.
    ///
    /// The value is the number of lost responses.
    case answersLost(Int)
    /// The requests of the first attempts end in the middle of the body.
    ///
    /// The value is the number of these attempts.
    case requestsCut(Int)
    /// The sender closes the connection during the first attempts.
    ///
    /// The value is the number of these attempts.
    case hangUps(Int)
    /// OneSignal responds with this error to the backend's next call after the delivery.
    case pushFails(ProviderPlan.Answer)
    /// RevenueCat's REST API responds with this error to the backend's next call after the
    /// delivery.
    case readFails(ProviderPlan.Answer)
    /// An event of an unknown type arrives before the delivery.
    case unknownType
    /// The body of the event contains fields that RevenueCat and Purchasely do not document.
    case unknownFields
    /// The JSON keys of the event have a different order than usual.
    case shuffled
    /// The backend is stopped and started again before the delivery.
    case restart(Restart.Signal)
    /// The backend is stopped while it handles the delivery.
    case crash(Crash)
    /// The user's app registers again before the delivery.
    case register
    /// The event and the next event of the history are delivered at the same time.
    case overlap
    /// The event is delivered while the user's app registers again.
    case meanwhile

    /// The phrase for this fault in the title of a history, such as `with a lost response`.
    package var words: String {
        switch self {
        case .copies, .together, .again: "delivered twice"
        case .late: "delivered after later events"
        case .answersLost: "with a lost response"
        case .requestsCut: "with a truncated request"
        case .hangUps: "with a disconnect by the sender"
        case .pushFails: "while OneSignal calls fail"
        case .readFails: "while RevenueCat reads fail"
        case .unknownType: "after an event of unknown type"
        case .unknownFields: "with unknown fields"
        case .shuffled: "with reordered keys"
        case .restart: "after a restart"
        case .crash: "while the backend is stopped"
        case .register: "after another registration"
        case .overlap: "delivered concurrently with the next event"
        case .meanwhile: "delivered concurrently with another registration"
        }
    }

    /// The ID of the contract clause that a backend violates when this fault changes its final
    /// state.
    package var clause: String {
        switch self {
        case .copies, .together, .again: "S-03"
        case .late, .overlap: "S-09"
        case .answersLost, .requestsCut, .hangUps, .readFails: "S-07"
        case .pushFails: "S-30"
        case .unknownType, .unknownFields, .shuffled: "S-08"
        case .restart, .crash: "S-04"
        case .register, .meanwhile: "S-22"
        }
    }

    /// Whether this fault makes events arrive in a different order than they happened.
    var changesOrder: Bool {
        switch self {
        case .late, .overlap: true
        case .copies, .together, .again, .answersLost, .requestsCut, .hangUps, .pushFails,
            .readFails, .unknownType, .unknownFields, .shuffled, .restart, .crash, .register,
            .meanwhile:
            false
        }
    }

    /// Whether this fault interrupts the first attempt of a delivery, which then cannot be
    /// concurrent with another request.
    var interrupts: Bool {
        switch self {
        case .answersLost, .requestsCut, .hangUps, .crash: true
        case .copies, .together, .again, .late, .pushFails, .readFails, .unknownType,
            .unknownFields, .shuffled, .restart, .register, .overlap, .meanwhile:
            false
        }
    }

    /// Whether this fault inserts a step before the delivery, which then cannot be concurrent with
    /// the previous request.
    var comesBehindAnother: Bool {
        switch self {
        case .pushFails, .readFails, .unknownType, .restart, .register: true
        case .copies, .together, .again, .late, .answersLost, .requestsCut, .hangUps, .crash,
            .unknownFields, .shuffled, .overlap, .meanwhile:
            false
        }
    }

    /// Whether the event with this fault is retried until the backend accepts the event.
    var isRetried: Bool {
        switch self {
        case .answersLost, .requestsCut, .hangUps, .crash, .pushFails, .readFails, .overlap,
            .meanwhile:
            true
        case .copies, .together, .again, .late, .unknownType, .unknownFields, .shuffled,
            .restart, .register:
            false
        }
    }

    /// Whether the fault takes effect only if the backend calls OneSignal or RevenueCat.
    var needsACall: Bool {
        switch self {
        case .pushFails, .readFails: true
        case .copies, .together, .again, .late, .answersLost, .requestsCut, .hangUps,
            .unknownType, .unknownFields, .shuffled, .restart, .crash, .register, .overlap,
            .meanwhile:
            false
        }
    }

    /// The kind of a fault.
    ///
    /// The raw value is the name of the fault in `.history` files and command-line options.
    package enum Kind: String, CaseIterable, Comparable, Sendable {
        case copies = "duplicate"
        case together = "concurrent-duplicate"
        case again = "redelivery"
        case late = "delayed"
        case answersLost = "lost-response"
        case requestsCut = "truncated-request"
        case hangUps = "disconnect"
        case pushFails = "onesignal-error"
        case readFails = "revenuecat-error"
        case unknownType = "unknown-type"
        case unknownFields = "unknown-fields"
        case shuffled = "reordered-keys"
        case restart
        case crash
        case register
        case overlap
        case meanwhile = "registration-overlap"

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        /// The features that the profile of a backend must list for faults of this kind.
        package var needs: [Feature] {
            switch self {
            case .restart, .crash: [.restart]
            case .pushFails: [.push]
            case .readFails: [.subscriberReads]
            case .register, .meanwhile: [.register]
            case .copies, .together, .again, .late, .answersLost, .requestsCut, .hangUps,
                .unknownType, .unknownFields, .shuffled, .overlap:
                []
            }
        }
    }

    /// The kind of this fault without its parameters.
    ///
    /// The coverage report counts faults by kind.
    package var kind: Kind {
        switch self {
        case .copies: .copies
        case .together: .together
        case .again: .again
        case .late: .late
        case .answersLost: .answersLost
        case .requestsCut: .requestsCut
        case .hangUps: .hangUps
        case .pushFails: .pushFails
        case .readFails: .readFails
        case .unknownType: .unknownType
        case .unknownFields: .unknownFields
        case .shuffled: .shuffled
        case .restart: .restart
        case .crash: .crash
        case .register: .register
        case .overlap: .overlap
        case .meanwhile: .meanwhile
        }
    }
}
