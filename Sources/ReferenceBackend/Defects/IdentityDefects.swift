internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Who is meant: defects of aliases, unknown users and transfers.
extension Defect {
    static let identity: [Defect] = [
        Defect(
            "transfer-fails",
            "TRANSFER needs an app_user_id and is answered 500",
            breaks: "S-17"
        ) {
            $0.refuse(.internalServerError) { event, _ in
                event.type == "TRANSFER" && event.appUserID == nil
            }
        },
        Defect(
            "transfer-ignored",
            "TRANSFER is acknowledged and nothing moves",
            breaks: "S-17",
            "A-07"
        ) {
            $0.onReading { event, _ in
                if event.type == "TRANSFER" { event.type = "IGNORED" }
            }
        },
        Defect(
            "transfer-keeps-source",
            "TRANSFER copies instead of moving",
            breaks: "S-17",
            "A-07"
        ) {
            $0.identity.leave = { _, _, _ in }
        },
        Defect(
            "transfer-leaves-cancelled",
            "TRANSFER leaves behind what will not renew",
            breaks: "S-17"
        ) {
            $0.moves("willRenew")
        },
        Defect(
            "transfer-leaves-one-time",
            "TRANSFER leaves behind what never ends",
            breaks: "S-17"
        ) {
            $0.moves("expiresAt IS NOT NULL")
        },
        Defect(
            "transfer-forgotten",
            "a purchase that arrives after its TRANSFER stays where it was bought",
            breaks: "S-17"
        ) {
            $0.identity.holder = { _, userID, _ in userID }
        },
        Defect(
            "transfer-from-stranger-forgotten",
            "a TRANSFER from somebody who is not known yet is forgotten",
            breaks: "S-17"
        ) {
            $0.identity.welcomeLoser = { _, _, _ in }
        },
        Defect(
            "transfer-dropped-beside-other",
            "a TRANSFER drops what the winner has something newer beside, whatever that is",
            breaks: "S-17"
        ) {
            $0.identity.isOvertaken = { _, db, moved in
                let latest = try Int64.fetchOne(
                    db,
                    sql: "SELECT max(asOf) FROM subscriptions WHERE userID = ?",
                    arguments: [moved.userID]
                )
                return latest.map { $0 >= moved.asOf } ?? false
            }
        },
        Defect(
            "transfer-dropped-beside-ended",
            "a TRANSFER drops what the winner once had as well",
            breaks: "S-17"
        ) {
            $0.identity.join = { _, _, _ in }
            $0.identity.isOvertaken = { store, db, moved in
                try store.fetch(db, moved.userID, moved.productID, moved.isSandbox) != nil
            }
        },
        Defect(
            "transfer-overwrites",
            "what a TRANSFER brings replaces what the winner has, however old it is",
            breaks: "S-17"
        ) {
            $0.identity.join = { _, _, _ in }
            $0.identity.isOvertaken = { _, _, _ in false }
        },
        Defect(
            "transfer-takes-all",
            "a TRANSFER that comes late takes what was bought after it as well",
            breaks: "S-17"
        ) {
            $0.onReading { event, _ in if event.type == "TRANSFER" { event.timestamp = .max } }
        },
        Defect(
            "transfer-copies-newer",
            "a TRANSFER that comes late gives its winner what was bought after it as well",
            breaks: "S-17"
        ) {
            $0.identity.holdings = { db, source, _ in
                try Identity.holdings(db, of: source, until: .max)
            }
        },
        Defect("transfer-first-only", "TRANSFER moves from the first id only", breaks: "S-17") {
            $0.onReading { event, _ in
                event.transferredFrom = Array(event.transferredFrom.prefix(1))
            }
        },
        Defect("aliases-ignored", "users are not looked up by aliases", breaks: "S-20") {
            $0.onReading { event, _ in event.aliases = [] }
        },
        Defect(
            "original-id-ignored",
            "users are not looked up by original_app_user_id",
            breaks: "S-20"
        ) {
            $0.onReading { event, _ in event.originalAppUserID = nil }
        },
        Defect(
            "aliases-not-kept",
            "an alias finds its person, and is not remembered",
            breaks: "S-20"
        ) {
            $0.afterApplying { db, event in
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
            "two records of one person stay two",
            breaks: "S-20",
            "A-02",
            "A-04",
            "A-06"
        ) {
            $0.identity.unite = { _, _, _, _ in }
        },
        Defect(
            "unknown-user-skipped",
            "an event for an unknown user is dropped with 200",
            breaks: "S-21"
        ) {
            $0.identity.welcome = { _, _, _ in nil }
        },
        Defect(
            "unknown-user-rejected",
            "an event for an unknown user is answered 404",
            breaks: "S-21"
        ) {
            $0.identity.welcome = { _, _, _ in throw Strictness(.notFound) }
            let correct = $0.route.failed
            $0.route.failed = { ($0 as? Strictness)?.response ?? correct($0) }
        },
        Defect(
            "unknown-user-kept",
            "that nobody has an id is remembered, and answered after somebody has it",
            breaks: "S-21"
        ) {
            let missing = NIOLockedValueBox<[String: Response]>([:])
            $0.probes.view = { kind, id, make in
                if kind == .user, let response = missing.withLockedValue({ $0[id] }) {
                    return response
                }
                let response = try await make()
                if kind == .user, response.status == .notFound {
                    missing.withLockedValue { $0[id] = response }
                }
                return response
            }
        },
        Defect("anonymous-ignored", "events of anonymous customers are dropped", breaks: "A-01") {
            $0.onReading { event, _ in
                if event.appUserID?.hasPrefix("$RCAnon") == true { event.type = "IGNORED" }
            }
        },
        Defect("blocked-ids-allowed", "blocked ids become users", breaks: "S-23", "S-21") {
            let correct = $0.identity.isValid
            $0.identity.isValid = { id in Identity.blocked.contains(id.lowercased()) || correct(id)
            }
        },
        Defect("long-ids-allowed", "ids beyond 100 characters become users", breaks: "S-23") {
            let correct = $0.identity.isValid
            $0.identity.isValid = { id in id.count > 100 || correct(id) }
        },
        Defect(
            "transfer-needs-environment",
            "a TRANSFER that names no environment moves nothing",
            breaks: "S-17"
        ) {
            $0.onReading { event, body in
                guard event.type == "TRANSFER", RawEvent(body).text("environment") == nil
                else { return }
                (event.transferredFrom, event.transferredTo) = ([], [])
            }
        },
        Defect(
            "transfer-takes-what-went",
            "a second TRANSFER takes what the first one had given to somebody else",
            breaks: "S-17"
        ) {
            $0.afterApplying { db, event in
                guard event.type == "TRANSFER", let loser = event.transferredFrom.first,
                    let winner = event.transferredTo.first
                else { return }
                try db.execute(
                    sql: "UPDATE OR REPLACE subscriptions "
                        + "SET userID = (SELECT userID FROM aliases WHERE alias = ?) "
                        + "WHERE userID IN (SELECT target FROM transfers "
                        + "JOIN aliases ON aliases.userID = transfers.source "
                        + "WHERE aliases.alias = ?)",
                    arguments: [winner, loser]
                )
            }
        },
        Defect(
            "merge-forgets-transfers",
            "a record that becomes another's loses what a TRANSFER had brought it",
            breaks: "S-20"
        ) {
            let correct = $0.identity.unite
            $0.identity.unite = { store, db, other, userID in
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ? "
                        + "AND userID IN (SELECT target FROM transfers)",
                    arguments: [other.id]
                )
                try correct(store, db, other, userID)
            }
        },
    ]
}

extension Policies {
    /// Transfers take along what fulfils a condition of `subscriptions` and leave the rest behind.
    fileprivate mutating func moves(_ condition: String) {
        identity.leave = { db, source, moment in
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE userID = ? AND asOf <= ? AND \(condition)",
                arguments: [source, moment]
            )
        }
    }
}
