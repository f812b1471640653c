internal import Foundation
internal import GRDB
internal import HTTPTypes

/// Built-in defects of the reference backend that concern some values of users and events only,
/// such as one product, one currency or one spelling of an ID.
///
/// No contract names these values. The cases that draw them report the defects.
extension Defect {
    static let valuesOfEvents: [Defect] = [
        Defect(
            "grants-listed-products-only",
            "a purchase of a product that the backend's list lacks grants nothing",
            breaks: "S-10"
        ) {
            $0.changeParsedEvents { event, _ in
                let isListed = event.productID.map { $0.hasPrefix("premium_") } ?? true
                if !isListed { event.entitlements = [] }
            }
        },
        Defect(
            "names-break-statements",
            "an event with an apostrophe in the customer's name gets status 500",
            breaks: "S-10",
            "S-08"
        ) {
            $0.refuseEvents(.internalServerError) { _, body in body.contains(UInt8(ascii: "'")) }
        },
    ]

    static let valuesOfIDs: [Defect] = [
        Defect(
            "webhook-decodes-ids",
            "the webhook removes percent-encoding from user IDs",
            breaks: "S-17",
            "S-21",
            "S-10",
            "S-11",
            "S-18",
            "S-20"
        ) {
            $0.changeUserIDs { $0.removingPercentEncoding ?? $0 }
        },
        Defect(
            "webhook-reads-ids-as-numbers",
            "the webhook reads user IDs of digits as numbers",
            breaks: "S-17",
            "S-21"
        ) {
            $0.changeUserIDs { id in UInt64(id).map { String($0) } ?? id }
        },
        Defect(
            "webhook-cuts-ids",
            "the webhook cuts user IDs after 64 characters",
            breaks: "S-17",
            "S-21"
        ) {
            $0.changeUserIDs { String($0.prefix(64)) }
        },
        Defect(
            "webhook-normalizes-ids",
            "the webhook changes user IDs to Unicode normalization form C",
            breaks: "S-17",
            "S-21",
            "S-07",
            "S-31"
        ) {
            $0.changeUserIDs { $0.precomposedStringWithCanonicalMapping }
        },
        Defect(
            "lookup-ignores-case",
            "a user is found by an ID with other capital letters",
            breaks: "S-17",
            "S-21"
        ) {
            $0.identity.aliasCondition = "aliases.alias = ? COLLATE NOCASE"
        },
    ]
}

extension Policies {
    /// Changes every user ID in RevenueCat events between parsing and processing.
    fileprivate mutating func changeUserIDs(_ change: @escaping @Sendable (String) -> String) {
        changeParsedEvents { event, _ in
            event.appUserID = event.appUserID.map(change)
            event.originalAppUserID = event.originalAppUserID.map(change)
            event.aliases = event.aliases.map(change)
            event.transferredFrom = event.transferredFrom.map(change)
            event.transferredTo = event.transferredTo.map(change)
        }
    }
}
