package import Conformance

/// Something that may happen to a delivery on its way, and must not show in the end.
///
/// Source: identity rules S-03, S-04, S-07, S-08, S-09, S-30; RevenueCat fact sheet, sections 1.4 and
/// 1.5: deliveries come at least once, in no promised order, and again until a 200.
package enum Disturbance: Hashable, Sendable {
    /// So many copies more, one after the other.
    case copies(Int)
    /// So many copies more, all at the same moment.
    case together(Int)
    /// The same bytes once more, so many deliveries later; beside `shuffled` the same event in others.
    case again(after: Int)
    /// It comes so many deliveries later than it happened.
    case late(by: Int)
    /// So many answers are lost, and the ladder brings it again.
    case answersLost(Int)
    /// So many requests break off.
    case requestsCut(Int)
    /// The sender hangs up on so many.
    case hangUps(Int)
    /// The provider of pushes answers the next calls so.
    case pushFails(ProviderPlan.Answer)
    /// RevenueCat's REST API does.
    case readFails(ProviderPlan.Answer)
    /// An event of a type that nobody knows comes before it.
    case unknownType
    /// It carries fields that nobody knows.
    case unknownFields
    /// Its keys come in another order.
    case shuffled
    /// The backend is stopped and started again before it.
    case restart(Restart.Signal)
    /// The backend is stopped while it is under way.
    case crash(Crash)
    /// Its person's app registers again before it.
    case register
    /// It is under way at the same moment as the next one.
    case overlap
    /// It is under way at the same moment as its person's app registers again.
    case meanwhile

    /// What a person reads of it.
    package var words: String {
        switch self {
        case .copies, .together, .again: "delivered twice"
        case .late: "delivered late"
        case .answersLost: "answered in vain"
        case .requestsCut: "broken off at first"
        case .hangUps: "given up by its sender at first"
        case .pushFails: "while pushes fail"
        case .readFails: "while the customer cannot be read"
        case .unknownType: "behind an unknown type"
        case .unknownFields: "with unknown fields"
        case .shuffled: "with its keys in another order"
        case .restart: "after a restart"
        case .crash: "while the backend is stopped"
        case .register: "behind one more registration"
        case .overlap: "delivered at the same moment as the next"
        case .meanwhile: "delivered at the same moment as one more registration"
        }
    }

    /// The clause that a backend breaks when this shows.
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

    /// Whether the order in which events arrive becomes another than that in which they happened.
    var changesOrder: Bool {
        switch self {
        case .late, .overlap: true
        case .copies, .together, .again, .answersLost, .requestsCut, .hangUps, .pushFails,
            .readFails, .unknownType, .unknownFields, .shuffled, .restart, .crash, .register,
            .meanwhile:
            false
        }
    }

    /// Whether its first attempt does not reach its end, so that nothing can go out with it.
    var interrupts: Bool {
        switch self {
        case .answersLost, .requestsCut, .hangUps, .crash: true
        case .copies, .together, .again, .late, .pushFails, .readFails, .unknownType,
            .unknownFields, .shuffled, .restart, .register, .overlap, .meanwhile:
            false
        }
    }

    /// Whether something stands before it, so that nothing else can go out with it.
    var comesBehindAnother: Bool {
        switch self {
        case .pushFails, .readFails, .unknownType, .restart, .register: true
        case .copies, .together, .again, .late, .answersLost, .requestsCut, .hangUps, .crash,
            .unknownFields, .shuffled, .overlap, .meanwhile:
            false
        }
    }

    /// Whether it is sent again until it is taken.
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

    /// Whether a call of the backend has to fail in it.
    var needsACall: Bool {
        switch self {
        case .pushFails, .readFails: true
        case .copies, .together, .again, .late, .answersLost, .requestsCut, .hangUps,
            .unknownType, .unknownFields, .shuffled, .restart, .crash, .register, .overlap,
            .meanwhile:
            false
        }
    }

    /// What kind of disturbance, by the name that files and people write.
    package enum Kind: String, CaseIterable, Comparable, Sendable {
        case copies
        case together
        case again
        case late
        case answersLost = "lose-answers"
        case requestsCut = "cut-requests"
        case hangUps = "hang-ups"
        case pushFails = "push-fails"
        case readFails = "read-fails"
        case unknownType = "unknown-type"
        case unknownFields = "unknown-fields"
        case shuffled
        case restart
        case crash
        case register
        case overlap
        case meanwhile = "register-meanwhile"

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        /// What a backend must have or allow for it to mean anything.
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

    /// Its kind alone, as coverage counts it.
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
