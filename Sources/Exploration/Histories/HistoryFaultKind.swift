package import Providers
internal import Contracts

extension HistoryFault {
    /// The kind of a fault.
    package enum Kind: Hashable, Sendable {
        case duplicate, concurrentDuplicate, redelivery, delayed
        case lostResponses, truncatedRequests, disconnects
        case serviceError(ServiceError)
        case unknownType, unknownFields, reorderedKeys
        case restart, crash
        case register, overlap, registrationOverlap

        /// The features that the profile of a backend must list for faults of this kind.
        package var needs: [Feature] {
            switch self {
            case .restart, .crash: [.restart]
            case .serviceError(let error): error.needs
            case .register, .registrationOverlap: [.register]
            case .duplicate, .concurrentDuplicate, .redelivery, .delayed, .lostResponses,
                .truncatedRequests, .disconnects,
                .unknownType, .unknownFields, .reorderedKeys, .overlap:
                []
            }
        }
    }
}

extension HistoryFault.Kind: CaseIterable {
    package static let allCases: [Self] =
        [
            .duplicate, .concurrentDuplicate, .redelivery, .delayed, .lostResponses,
            .truncatedRequests, .disconnects,
        ] + ServiceError.all.map(Self.serviceError) + [
            .unknownType, .unknownFields, .reorderedKeys, .restart, .crash, .register, .overlap,
            .registrationOverlap,
        ]
}

/// The raw value is the name of the fault in `.history` files and command-line options.
extension HistoryFault.Kind: RawRepresentable {
    package init?(rawValue: String) {
        guard let kind = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
            return nil
        }
        self = kind
    }

    package var rawValue: String {
        switch self {
        case .duplicate: "duplicate"
        case .concurrentDuplicate: "concurrent-duplicate"
        case .redelivery: "redelivery"
        case .delayed: "delayed"
        case .lostResponses: "lost-response"
        case .truncatedRequests: "truncated-request"
        case .disconnects: "disconnect"
        case .serviceError(let error): error.name
        case .unknownType: "unknown-type"
        case .unknownFields: "unknown-fields"
        case .reorderedKeys: "reordered-keys"
        case .restart: "restart"
        case .crash: "crash"
        case .register: "register"
        case .overlap: "overlap"
        case .registrationOverlap: "registration-overlap"
        }
    }
}

extension HistoryFault.Kind: Comparable {
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
