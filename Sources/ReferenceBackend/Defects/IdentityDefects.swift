internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in aliases, unknown users and transfers.
extension Defect {
    static let identity: [Defect] = [
        Defect(
            "transfer-fails",
            "a TRANSFER, which has no app_user_id, gets status 500",
            breaks: "S-17"
        ) {
            $0.refuseEvents(.internalServerError) { event, _ in
                event.type == "TRANSFER" && event.appUserID == nil
            }
        },
        Defect(
            "transfer-ignored",
            "a TRANSFER is acknowledged but moves nothing",
            breaks: "S-17",
            "A-07"
        ) {
            $0.changeParsedEvents { event, _ in
                if event.type == "TRANSFER" { event.type = "IGNORED" }
            }
        },
        Defect(
            "transfer-keeps-source",
            "a TRANSFER copies purchases instead of moving them",
            breaks: "S-17",
            "A-07"
        ) {
            $0.identity.removeTransferredPurchases = { _, _, _ in }
        },
        Defect(
            "transfer-leaves-cancelled",
            "a TRANSFER does not move canceled subscriptions",
            breaks: "S-17"
        ) {
            $0.limitTransfers("willRenew")
        },
        Defect(
            "transfer-leaves-one-time",
            "a TRANSFER does not move purchases without an end",
            breaks: "S-17"
        ) {
            $0.limitTransfers("expiresAt IS NOT NULL")
        },
        Defect(
            "transfer-forgotten",
            "a purchase whose event arrives after its TRANSFER stays with the buyer",
            breaks: "S-17"
        ) {
            $0.identity.currentOwnerID = { _, userID, _, _ in userID }
        },
        Defect(
            "transfer-from-stranger-forgotten",
            "a TRANSFER from an unknown user is forgotten",
            breaks: "S-17"
        ) {
            $0.identity.createPreviousOwner = { _, _, _ in }
        },
        Defect(
            "transfer-dropped-beside-other",
            "a TRANSFER drops a purchase if the new owner has any newer purchase",
            breaks: "S-17"
        ) {
            $0.identity.hasNewerState = { _, db, moved in
                let latestStateTime = try Int64.fetchOne(
                    db,
                    sql: "SELECT max(asOf) FROM subscriptions WHERE userID = ?",
                    arguments: [moved.userID]
                )
                return latestStateTime.map { $0 >= moved.asOf } ?? false
            }
        },
        Defect(
            "transfer-dropped-beside-ended",
            "a TRANSFER drops a purchase of a product that the new owner once had",
            breaks: "S-17"
        ) {
            $0.identity.recomputeHistory = { _, _, _ in }
            $0.identity.hasNewerState = { store, db, moved in
                try store.fetchSubscription(db, moved.userID, moved.productID, moved.isSandbox)
                    != nil
            }
        },
        Defect(
            "transfer-overwrites",
            "a TRANSFER replaces the new owner's purchase with an older purchase",
            breaks: "S-17"
        ) {
            $0.identity.recomputeHistory = { _, _, _ in }
            $0.identity.hasNewerState = { _, _, _ in false }
        },
        Defect(
            "transfer-takes-all",
            "a TRANSFER that arrives late also moves later purchases",
            breaks: "S-17"
        ) {
            $0.changeParsedEvents { event, _ in
                if event.type == "TRANSFER" { event.timestamp = .max }
            }
        },
        Defect(
            "transfer-copies-newer",
            "a TRANSFER that arrives late also copies later purchases",
            breaks: "S-17"
        ) {
            $0.identity.ownedPurchases = { db, source, _ in
                try Identity.ownedPurchases(db, of: source, MovedPurchases())
            }
        },
        Defect(
            "transfer-in-any-environment",
            "a TRANSFER of the sandbox also moves production purchases",
            breaks: "S-19"
        ) {
            $0.identity.movedPurchases = { MovedPurchases(until: $0.timestamp) }
        },
        Defect(
            "blocked-alias-merges",
            "users whose events share an alias that must be blocked are merged",
            breaks: "S-21"
        ) {
            $0.identity.isUsableAlias = { store, id in
                Identity.blockedIDs.contains(id.lowercased()) || store.isValidUserID(id)
            }
        },
        Defect(
            "transfer-first-only",
            "a TRANSFER moves the purchases of the first old owner only",
            breaks: "S-17"
        ) {
            $0.changeParsedEvents { event, _ in
                event.transferredFrom = Array(event.transferredFrom.prefix(1))
            }
        },
        Defect(
            "aliases-ignored",
            "the user of an event is not looked up by the event's aliases",
            breaks: "S-20"
        ) {
            $0.changeParsedEvents { event, _ in event.aliases = [] }
        },
        Defect(
            "original-id-ignored",
            "the user of an event is not looked up by original_app_user_id",
            breaks: "S-20"
        ) {
            $0.changeParsedEvents { event, _ in event.originalAppUserID = nil }
        },
        Defect(
            "aliases-not-kept",
            "an alias in an event is used once but not stored",
            breaks: "S-20"
        ) {
            $0.afterApplyingEvent { db, event in
                for alias in event.aliases {
                    try db.execute(
                        sql: "DELETE FROM aliases WHERE alias = ? AND alias <> "
                            + "(SELECT appUserID FROM users WHERE users.id = aliases.userID)",
                        arguments: [alias]
                    )
                }
            }
        },
        Defect(
            "no-merge",
            "two database records of one user are not merged",
            breaks: "S-20",
            "A-02",
            "A-04",
            "A-06"
        ) {
            $0.identity.mergeUsers = { _, _, _, _ in }
        },
        Defect(
            "unknown-user-skipped",
            "an event for an unknown user gets status 200 and is dropped",
            breaks: "S-21"
        ) {
            $0.identity.createUserIfUnknown = { _, _, _ in nil }
        },
        Defect(
            "unknown-user-rejected",
            "an event for an unknown user gets status 404",
            breaks: "S-21"
        ) {
            $0.identity.createUserIfUnknown = { _, _, _ in throw DefectRefusal(.notFound) }
            let correctRule = $0.route.serverErrorResponse
            $0.route.serverErrorResponse = { ($0 as? DefectRefusal)?.response ?? correctRule($0) }
        },
        Defect(
            "unknown-user-kept",
            "a 404 response for an unknown user is cached after the user is created",
            breaks: "S-21"
        ) {
            let cachedMissingResponses = NIOLockedValueBox<[String: Response]>([:])
            $0.probes.probeResponse = { kind, id, makeResponse in
                if kind == .user, let response = cachedMissingResponses.withLockedValue({ $0[id] })
                {
                    return response
                }
                let response = try await makeResponse()
                if kind == .user, response.status == .notFound {
                    cachedMissingResponses.withLockedValue { $0[id] = response }
                }
                return response
            }
        },
        Defect("anonymous-ignored", "events of anonymous customers are dropped", breaks: "A-01") {
            $0.changeParsedEvents { event, _ in
                if event.appUserID?.hasPrefix("$RCAnon") == true { event.type = "IGNORED" }
            }
        },
        Defect(
            "blocked-ids-allowed",
            "user IDs that must be blocked, such as 'null', are accepted",
            breaks: "S-23",
            "S-21"
        ) {
            let correctRule = $0.identity.isValidUserID
            $0.identity.isValidUserID = { id in
                Identity.blockedIDs.contains(id.lowercased()) || correctRule(id)
            }
        },
        Defect(
            "long-ids-allowed",
            "user IDs with more than 100 characters are accepted",
            breaks: "S-23"
        ) {
            let correctRule = $0.identity.isValidUserID
            $0.identity.isValidUserID = { id in id.count > 100 || correctRule(id) }
        },
        Defect(
            "transfer-needs-environment",
            "a TRANSFER without an environment moves nothing",
            breaks: "S-17"
        ) {
            $0.changeParsedEvents { event, body in
                guard event.type == "TRANSFER", RawEvent(body).text("environment") == nil
                else { return }
                (event.transferredFrom, event.transferredTo) = ([], [])
            }
        },
        Defect(
            "transfer-takes-what-went",
            "a second TRANSFER also takes the purchases that the first one moved",
            breaks: "S-17"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "TRANSFER", let previousOwnerID = event.transferredFrom.first,
                    let newOwnerID = event.transferredTo.first
                else { return }
                try db.execute(
                    sql: "UPDATE OR REPLACE subscriptions "
                        + "SET userID = (SELECT userID FROM aliases WHERE alias = ?) "
                        + "WHERE userID IN (SELECT target FROM transfers "
                        + "JOIN aliases ON aliases.userID = transfers.source "
                        + "WHERE aliases.alias = ?)",
                    arguments: [newOwnerID, previousOwnerID]
                )
            }
        },
        Defect(
            "merge-forgets-transfers",
            "a merge of two user records loses transferred purchases",
            breaks: "S-20"
        ) {
            let correctRule = $0.identity.mergeUsers
            $0.identity.mergeUsers = { store, db, otherUser, userID in
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ? "
                        + "AND userID IN (SELECT target FROM transfers)",
                    arguments: [otherUser.id]
                )
                try correctRule(store, db, otherUser, userID)
            }
        },
        Defect(
            "merge-drops-purchases",
            "an event that names two registered users deletes the purchases of one of them",
            breaks: "S-20"
        ) {
            let correctRule = $0.identity.mergeUsers
            $0.identity.mergeUsers = { store, db, otherUser, userID in
                if otherUser.source != User.webhookSource {
                    try db.execute(
                        sql: "DELETE FROM subscriptions WHERE userID = ?",
                        arguments: [otherUser.id]
                    )
                }
                try correctRule(store, db, otherUser, userID)
            }
        },
    ]
}

extension Policies {
    /// Changes transfers so that they move only the rows of the table `subscriptions` that satisfy
    /// an SQL condition.
    fileprivate mutating func limitTransfers(_ condition: String) {
        identity.removeTransferredPurchases = { db, source, moved in
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE userID = ? AND asOf <= ? AND \(condition) "
                    + moved.environmentCondition,
                arguments: [source, moved.until]
            )
        }
    }
}
