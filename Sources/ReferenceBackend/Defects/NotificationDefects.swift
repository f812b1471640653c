internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// What people are told and how it is sent: defects of messages and of the outbox.
extension Defect {
    static let notification: [Defect] = [
        Defect("sandbox-pushes", "people are told about sandbox events", breaks: "S-31") {
            $0.notification.isNews = { _, isStale in !isStale }
        },
        Defect(
            "stale-event-announced",
            "people are told about events that came too late",
            breaks: "S-31"
        ) {
            let correct = $0.notification.isNews
            $0.notification.isNews = { event, _ in correct(event, false) }
        },
        Defect("billing-announced-twice", "one failed payment is told twice", breaks: "S-31") {
            let correct = $0.notification.text
            $0.notification.text = { event in
                event.cancelReason == "BILLING_ERROR" ? Notification.cancelled : correct(event)
            }
        },
        Defect("refund-text-same", "a refund is told as a cancellation", breaks: "S-31") {
            let correct = $0.notification.text
            $0.notification.text = { event in
                event.cancelReason == "CUSTOMER_SUPPORT" ? Notification.cancelled : correct(event)
            }
        },
        Defect("one-text-for-all", "every event is told in the words of one", breaks: "S-31") {
            let correct = $0.notification.text
            $0.notification.text = { event in correct(event).map { _ in Notification.cancelled } }
        },
        Defect("push-to-alias", "a push names the id of before the login", breaks: "O-01") {
            $0.notification.recipient = { user, event in event.originalAppUserID ?? user.appUserID }
        },
        Defect(
            "push-result-ignored",
            "a push is sent once, whatever comes back",
            breaks: "S-30",
            "A-01"
        ) {
            let correct = $0.outbox.next
            $0.outbox.next = { result, attemptCount in
                if case .failed = result {
                    .finish("ignored")
                } else {
                    correct(result, attemptCount)
                }
            }
        },
        Defect(
            "retry-after-in-milliseconds",
            "the seconds of a Retry-After are taken for milliseconds",
            breaks: "O-04"
        ) {
            let correct = $0.outbox.next
            $0.outbox.next = { result, attemptCount in
                guard case .failed(let retryAfter?) = result else {
                    return correct(result, attemptCount)
                }
                // Its own pause is longer than that.
                return correct(.failed(retryAfter: max(retryAfter / 1000, 1100)), attemptCount)
            }
        },
        Defect("push-empty-id-accepted", "a 200 with an empty id counts as sent", breaks: "S-30") {
            let correct = $0.outbox.result
            $0.outbox.result = { message, answer in
                (200..<300).contains(answer.status) ? .accepted : correct(message, answer)
            }
        },
        Defect(
            "push-errors-taken-for-failure",
            "a 200 with errors is sent again under a new key",
            breaks: "S-30"
        ) {
            let (body, result) = ($0.outbox.body, $0.outbox.result)
            let again = NIOLockedValueBox<Set<Int64>>([])
            $0.outbox.result = { message, answer in
                guard (200..<300).contains(answer.status), answer.json["errors"] != nil else {
                    return result(message, answer)
                }
                again.withLockedValue { _ = $0.insert(message.id) }
                return .failed(retryAfter: 0)
            }
            $0.outbox.body = { message, service in
                var message = message
                let isAgain = again.withLockedValue { $0.contains(message.id) }
                if isAgain { message.key = UUID().uuidString.lowercased() }
                return body(message, service)
            }
        },
        Defect("push-without-key", "pushes carry no idempotency key", breaks: "S-05") {
            $0.changeBody { $0["idempotency_key"] = nil }
        },
        Defect(
            "push-new-key",
            "each attempt of a push has a new idempotency key",
            breaks: "O-03",
            "A-01"
        ) {
            $0.changeBody { $0["idempotency_key"] = UUID().uuidString }
        },
        Defect("push-to-everyone", "a push goes to a segment as well", breaks: "O-01") {
            $0.changeBody { $0["included_segments"] = ["All"] }
        },
        Defect("push-without-channel", "a push names no target channel", breaks: "O-01") {
            $0.changeBody { $0["target_channel"] = nil }
        },
        Defect("push-unauthorised", "pushes carry another app's key", breaks: "O-02") {
            $0.outbox.authorization = { _ in "Key of-another-app" }
        },
        Defect("push-ignores-retry-after", "Retry-After is not read", breaks: "O-04") {
            let correct = $0.outbox.next
            $0.outbox.next = { result, attemptCount in
                guard case .failed = result else { return correct(result, attemptCount) }
                return correct(.failed(retryAfter: nil), attemptCount)
            }
        },
        Defect("push-retries-for-ever", "a refused push is sent for ever", breaks: "O-04") {
            let correct = $0.outbox.next
            $0.outbox.next = { result, attemptCount in
                if case .refused = result {
                    .again(after: 100)
                } else {
                    correct(result, attemptCount)
                }
            }
        },
        Defect("outbox-in-memory", "pushes wait in memory", breaks: "S-05") {
            // Such queues collect for a moment before they send.
            let (keep, waiting) = ($0.outbox.keep, $0.outbox.waiting)
            let known = NIOLockedValueBox<Set<String>>([])
            $0.outbox.keep = { db, draft in
                var draft = draft
                draft.dueAt += 400
                known.withLockedValue { _ = $0.insert(draft.key) }
                try keep(db, draft)
            }
            $0.outbox.waiting = { db in
                let mine = known.withLockedValue { $0 }
                return try waiting(db).filter { mine.contains($0.0.key) }
            }
        },
        Defect(
            "overwrites-tags",
            "RevenueCat's tags are written by the backend too",
            breaks: "O-05"
        ) {
            let correct = $0.outbox.attempt
            $0.outbox.attempt = { outbox, message, timeout in
                let result = await correct(outbox, message, timeout)
                if case .accepted = result { await outbox.writeTags(message) }
                return result
            }
        },
        Defect(
            "pause-from-first-attempt",
            "the pause counts from the first attempt, so a second one is none",
            breaks: "O-04"
        ) {
            let correct = $0.outbox.next
            $0.outbox.next = { result, attemptCount in
                if case .failed(_?) = result, attemptCount > 1 { return .again(after: 0) }
                return correct(result, attemptCount)
            }
        },
        Defect(
            "key-per-person-and-kind",
            "all messages of a kind to a person share a key",
            breaks: "O-03"
        ) {
            let correct = $0.outbox.keep
            $0.outbox.keep = { db, draft in
                var draft = draft
                draft.key = Outbox.key(for: draft.recipient + "/" + draft.text)
                try correct(db, draft)
            }
        },
        Defect(
            "told-once-for-ever",
            "what somebody was told of a product is never told again",
            breaks: "S-31"
        ) {
            let correct = $0.notification.isTrue
            $0.notification.isTrue = { store, db, event, user in
                let isTrue = try correct(store, db, event, user)
                guard isTrue, ["BILLING_ISSUE", "EXPIRATION"].contains(event.type) else {
                    return isTrue
                }
                try db.execute(
                    sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                        + "ON CONFLICT DO NOTHING",
                    arguments: [
                        "told/\(user.appUserID)/\(event.type)/\(event.productID ?? "")", "", 0,
                    ]
                )
                return db.changesCount > 0
            }
        },
        Defect(
            "end-told-beside-another",
            "what people are told follows from the event, whatever access they have",
            breaks: "S-31"
        ) {
            $0.notification.isTrue = { _, _, _, _ in true }
        },
        Defect(
            "recipient-encoded",
            "the id in a push is percent-encoded, as in a path",
            breaks: "O-01"
        ) {
            let correct = $0.notification.recipient
            $0.notification.recipient = { user, event in
                let id = correct(user, event)
                let plain = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-_.~"))
                return id.addingPercentEncoding(withAllowedCharacters: plain) ?? id
            }
        },
    ]
}
