package import Contracts
package import Providers
internal import Values

/// A fault in the delivery of a webhook event.
///
/// A correct backend reaches the same final state as without the fault.
///
/// Source: identity rules S-03, S-04, S-07, S-08, S-09, S-30; RevenueCat fact sheet, sections 1.4
/// and 1.5: deliveries arrive at least once, in no guaranteed order, and repeatedly until a 200.
package enum HistoryFault: Hashable, Sendable {
    /// The event is delivered this many additional times, one after the other.
    case duplicate(Int)
    /// The event is delivered this many additional times, all at the same time.
    case concurrentDuplicate(Int)
    /// The event is delivered again after this many other deliveries, with the same bytes. In
    /// combination with `reorderedKeys`, the second delivery has other bytes.
    case redelivery(after: Int)
    /// The event arrives after this many deliveries of events that happened later.
    case delayed(by: Int)
    /// The responses to the first attempts are lost, and the provider's retry schedule delivers the
    /// event again.
    ///
    /// The value is the number of lost responses.
    case lostResponses(Int)
    /// The requests of the first attempts end in the middle of the body.
    ///
    /// The value is the number of these attempts.
    case truncatedRequests(Int)
    /// The sender closes the connection during the first attempts.
    ///
    /// The value is the number of these attempts.
    case disconnects(Int)
    /// A service responds with this error to the backend's next call after the delivery.
    case serviceError(ServiceError, ProviderPlan.PlannedResponse)
    /// An event of an unknown type arrives before the delivery.
    case unknownType
    /// The body of the event contains fields that the provider does not document.
    case unknownFields
    /// The JSON keys of the event have a different order than usual.
    case reorderedKeys
    /// The backend is stopped and started again before the delivery.
    case restart(Restart.Signal)
    /// The backend is stopped while it handles the delivery.
    case crash(Crash)
    /// The user's app registers again before the delivery.
    case register
    /// The event and the next event of the history are delivered at the same time.
    case overlap
    /// The event is delivered while the user's app registers again.
    case registrationOverlap

    /// The phrase for this fault in the title of a history, such as `with a lost response`.
    package var words: String {
        switch self {
        case .duplicate, .concurrentDuplicate, .redelivery: "delivered twice"
        case .delayed: "delivered after later events"
        case .lostResponses: "with a lost response"
        case .truncatedRequests: "with a truncated request"
        case .disconnects: "with a disconnect by the sender"
        case .serviceError(let error, _): error.words
        case .unknownType: "after an event of unknown type"
        case .unknownFields: "with unknown fields"
        case .reorderedKeys: "with reordered keys"
        case .restart: "after a restart"
        case .crash: "while the backend is stopped"
        case .register: "after another registration"
        case .overlap: "delivered concurrently with the next event"
        case .registrationOverlap: "delivered concurrently with another registration"
        }
    }

    /// The ID of the contract clause that a backend violates when this fault changes its final
    /// state.
    package var clause: String {
        switch self {
        case .duplicate, .concurrentDuplicate, .redelivery: "S-03"
        case .delayed, .overlap: "S-09"
        case .lostResponses, .truncatedRequests, .disconnects: "S-07"
        case .serviceError(let error, _): error.clause
        case .unknownType, .unknownFields, .reorderedKeys: "S-08"
        case .restart, .crash: "S-04"
        case .register, .registrationOverlap: "S-22"
        }
    }

    /// Whether this fault makes events arrive in a different order than they happened.
    var changesDeliveryOrder: Bool {
        switch self {
        case .delayed, .overlap: true
        case .duplicate, .concurrentDuplicate, .redelivery, .lostResponses, .truncatedRequests,
            .disconnects,
            .serviceError, .unknownType, .unknownFields, .reorderedKeys, .restart, .crash,
            .register,
            .registrationOverlap:
            false
        }
    }

    /// Whether this fault interrupts the first attempt of a delivery, which then cannot be
    /// concurrent with another request.
    var interruptsDeliveryAttempt: Bool {
        switch self {
        case .lostResponses, .truncatedRequests, .disconnects, .crash: true
        case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .serviceError, .unknownType,
            .unknownFields, .reorderedKeys, .restart, .register, .overlap, .registrationOverlap:
            false
        }
    }

    /// Whether this fault inserts a step before the delivery, which then cannot be concurrent with
    /// the previous request.
    var insertsPrecedingStep: Bool {
        switch self {
        case .serviceError, .unknownType, .restart, .register: true
        case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .lostResponses,
            .truncatedRequests,
            .disconnects, .crash,
            .unknownFields, .reorderedKeys, .overlap, .registrationOverlap:
            false
        }
    }

    /// The planned responses of a provider that this fault needs; nil for other faults.
    var providerPlan: ProviderPlan? {
        switch self {
        case .serviceError(let error, let response): error.plan(response)
        case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .lostResponses,
            .truncatedRequests, .disconnects, .unknownType, .unknownFields, .reorderedKeys,
            .restart, .crash, .register, .overlap, .registrationOverlap:
            nil
        }
    }

    /// Whether the event with this fault is retried until the backend accepts the event.
    var causesRetries: Bool {
        switch self {
        case .lostResponses, .truncatedRequests, .disconnects, .crash, .serviceError,
            .overlap,
            .registrationOverlap:
            true
        case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .unknownType, .unknownFields,
            .reorderedKeys,
            .restart, .register:
            false
        }
    }

    /// Whether the fault takes effect only if the backend calls a service.
    var needsProviderCall: Bool {
        switch self {
        case .serviceError: true
        case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .lostResponses,
            .truncatedRequests,
            .disconnects,
            .unknownType, .unknownFields, .reorderedKeys, .restart, .crash, .register, .overlap,
            .registrationOverlap:
            false
        }
    }

    /// The kind of this fault without its parameters.
    ///
    /// The coverage report counts faults by kind.
    package var kind: Kind {
        switch self {
        case .duplicate: .duplicate
        case .concurrentDuplicate: .concurrentDuplicate
        case .redelivery: .redelivery
        case .delayed: .delayed
        case .lostResponses: .lostResponses
        case .truncatedRequests: .truncatedRequests
        case .disconnects: .disconnects
        case .serviceError(let error, _): .serviceError(error)
        case .unknownType: .unknownType
        case .unknownFields: .unknownFields
        case .reorderedKeys: .reorderedKeys
        case .restart: .restart
        case .crash: .crash
        case .register: .register
        case .overlap: .overlap
        case .registrationOverlap: .registrationOverlap
        }
    }
}
