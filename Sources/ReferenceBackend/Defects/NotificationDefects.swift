internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in push messages and the outbox, the queue of pushes.
extension Defect {
    static let notification: [Defect] = [
        Defect("sandbox-pushes", "users are notified of sandbox events", breaks: "S-31") {
            $0.notification.shouldNotify = { _, isStale in !isStale }
        },
        Defect(
            "stale-event-announced",
            "users are notified of events that are older than the known state",
            breaks: "S-31"
        ) {
            let correctRule = $0.notification.shouldNotify
            $0.notification.shouldNotify = { event, _ in correctRule(event, false) }
        },
        Defect(
            "billing-announced-twice",
            "a failed payment causes two notifications",
            breaks: "S-31"
        ) {
            let correctRule = $0.notification.text
            $0.notification.text = { event in
                event.cancelReason == "BILLING_ERROR"
                    ? Notification.cancelledText : correctRule(event)
            }
        },
        Defect(
            "refund-text-same",
            "the push about a refund has the text of a cancellation",
            breaks: "S-31"
        ) {
            let correctRule = $0.notification.text
            $0.notification.text = { event in
                event.cancelReason == "CUSTOMER_SUPPORT"
                    ? Notification.cancelledText : correctRule(event)
            }
        },
        Defect("one-text-for-all", "the pushes about all events have the same text", breaks: "S-31")
        {
            let correctRule = $0.notification.text
            $0.notification.text = { event in
                correctRule(event).map { _ in Notification.cancelledText }
            }
        },
        Defect(
            "push-to-alias",
            "a push is addressed to the user's ID from before the login",
            breaks: "O-01"
        ) {
            $0.notification.recipient = { user, event in event.originalAppUserID ?? user.appUserID }
        },
        Defect(
            "push-to-previous-owner",
            "a push about a transferred purchase is addressed to the previous owner",
            breaks: "O-01"
        ) {
            let previousOwners = NIOLockedValueBox<[String: String]>([:])
            $0.changeParsedEvents { event, _ in
                guard let from = event.transferredFrom.first, let to = event.transferredTo.first
                else { return }
                previousOwners.withLockedValue { $0[to] = from }
            }
            let correctRule = $0.notification.recipient
            $0.notification.recipient = { user, event in
                let recipient = correctRule(user, event)
                return previousOwners.withLockedValue { $0[recipient] ?? recipient }
            }
        },
        Defect(
            "push-to-first-user-of-phone",
            "a push is addressed to the first user of the user's phone",
            breaks: "A-05"
        ) {
            let firstUsers = NIOLockedValueBox<[String: String]>([:])
            $0.changeRegistrationUpdate { user, _ in
                // Anonymous IDs are not addressed.
                guard let device = user.deviceID, !user.appUserID.hasPrefix("$RCAnonymousID:")
                else { return }
                firstUsers.withLockedValue { $0[device] = $0[device] ?? user.appUserID }
            }
            let correctRule = $0.notification.recipient
            $0.notification.recipient = { user, event in
                let firstUser = firstUsers.withLockedValue { $0[user.deviceID ?? ""] }
                return firstUser ?? correctRule(user, event)
            }
        },
        Defect(
            "push-result-ignored",
            "a failed push is not retried",
            breaks: "S-30",
            "A-01"
        ) {
            let correctRule = $0.outbox.nextAction
            $0.outbox.nextAction = { result, attemptCount in
                if case .failed = result {
                    .finish("ignored")
                } else {
                    correctRule(result, attemptCount)
                }
            }
        },
        Defect(
            "retry-after-in-milliseconds",
            "the seconds in a Retry-After header are read as milliseconds",
            breaks: "O-04"
        ) {
            let correctRule = $0.outbox.nextAction
            $0.outbox.nextAction = { result, attemptCount in
                guard case .failed(let retryAfter?) = result else {
                    return correctRule(result, attemptCount)
                }
                // The defective outbox waits for at least 1.1 seconds.
                return correctRule(.failed(retryAfter: max(retryAfter / 1000, 1100)), attemptCount)
            }
        },
        Defect(
            "push-empty-id-accepted",
            "a 200 response of OneSignal with an empty ID counts as sent",
            breaks: "S-30"
        ) {
            let correctRule = $0.outbox.result
            $0.outbox.result = { message, answer in
                (200..<300).contains(answer.status) ? .accepted : correctRule(message, answer)
            }
        },
        Defect(
            "push-errors-taken-for-failure",
            "a push whose 200 response has errors is sent again with a new key",
            breaks: "S-30"
        ) {
            let (body, result) = ($0.outbox.body, $0.outbox.result)
            let retry = NIOLockedValueBox<Set<Int64>>([])
            $0.outbox.result = { message, answer in
                guard (200..<300).contains(answer.status), answer.json["errors"] != nil else {
                    return result(message, answer)
                }
                retry.withLockedValue { _ = $0.insert(message.id) }
                return .failed(retryAfter: 0)
            }
            $0.outbox.body = { message, pushService in
                var message = message
                let isRetry = retry.withLockedValue { $0.contains(message.id) }
                if isRetry { message.key = UUID().uuidString.lowercased() }
                return body(message, pushService)
            }
        },
        Defect("push-without-key", "pushes have no idempotency key", breaks: "S-05") {
            $0.changePushBody { $0["idempotency_key"] = nil }
        },
        Defect(
            "push-new-key",
            "each attempt of a push has a new idempotency key",
            breaks: "O-03",
            "A-01"
        ) {
            $0.changePushBody { $0["idempotency_key"] = UUID().uuidString }
        },
        Defect(
            "push-to-everyone",
            "a push is also addressed to all users of a segment",
            breaks: "O-01"
        ) {
            $0.changePushBody { $0["included_segments"] = ["All"] }
        },
        Defect("push-without-channel", "a push has no target channel", breaks: "O-01") {
            $0.changePushBody { $0["target_channel"] = nil }
        },
        Defect(
            "health-reveals-key",
            "the health route returns the configuration with the key of OneSignal",
            breaks: "O-02"
        ) {
            $0.probes.healthResponse = { configuration in
                JSON.response(
                    .ok,
                    ["appId": configuration.oneSignalAppID, "apiKey": configuration.oneSignalKey]
                )
            }
        },
        Defect("push-unauthorised", "pushes are sent with the key of another app", breaks: "O-02") {
            $0.outbox.authorization = { _ in "Key of-another-app" }
        },
        Defect(
            "push-ignores-retry-after",
            "the Retry-After header of OneSignal is ignored",
            breaks: "O-04"
        ) {
            let correctRule = $0.outbox.nextAction
            $0.outbox.nextAction = { result, attemptCount in
                guard case .failed = result else { return correctRule(result, attemptCount) }
                return correctRule(.failed(retryAfter: nil), attemptCount)
            }
        },
        Defect(
            "push-retries-for-ever",
            "a push that OneSignal refuses permanently is retried forever",
            breaks: "O-04"
        ) {
            let correctRule = $0.outbox.nextAction
            $0.outbox.nextAction = { result, attemptCount in
                if case .refused = result {
                    .retry(after: 100)
                } else {
                    correctRule(result, attemptCount)
                }
            }
        },
        Defect("outbox-in-memory", "pushes wait in memory and are lost in a crash", breaks: "S-05")
        {
            // Queues in memory typically collect messages for a short time before they send them.
            let (persist, waitingMessages) = ($0.outbox.persist, $0.outbox.waitingMessages)
            let storedMessageKeys = NIOLockedValueBox<Set<String>>([])
            $0.outbox.persist = { db, draft in
                var draft = draft
                draft.dueAt += 400
                storedMessageKeys.withLockedValue { _ = $0.insert(draft.key) }
                try persist(db, draft)
            }
            $0.outbox.waitingMessages = { db in
                let keysOfThisProcess = storedMessageKeys.withLockedValue { $0 }
                return try waitingMessages(db).filter { keysOfThisProcess.contains($0.0.key) }
            }
        },
        Defect(
            "one-push-at-a-time",
            "a push waits until OneSignal has responded to the push before it, for up to 30 s",
            breaks: "S-06"
        ) {
            let correctRule = $0.outbox.sendOnce
            let lastAttempt = NIOLockedValueBox<Task<Outbox.Result, Never>?>(nil)
            $0.outbox.sendOnce = { outbox, message, _ in
                let attempt = lastAttempt.withLockedValue { lastAttempt in
                    let previousAttempt = lastAttempt
                    let attempt = Task {
                        _ = await previousAttempt?.value
                        return await correctRule(outbox, message, .seconds(30))
                    }
                    lastAttempt = attempt
                    return attempt
                }
                return await attempt.value
            }
        },
        Defect(
            "overwrites-tags",
            "the backend overwrites the OneSignal tags that RevenueCat maintains",
            breaks: "O-05"
        ) {
            let correctRule = $0.outbox.sendOnce
            $0.outbox.sendOnce = { outbox, message, timeout in
                let result = await correctRule(outbox, message, timeout)
                if case .accepted = result { await outbox.writeTags(message) }
                return result
            }
        },
        Defect(
            "pause-from-first-attempt",
            "Retry-After is obeyed only after the first attempt of a push",
            breaks: "O-04"
        ) {
            let correctRule = $0.outbox.nextAction
            $0.outbox.nextAction = { result, attemptCount in
                if case .failed(_?) = result, attemptCount > 1 { return .retry(after: 0) }
                return correctRule(result, attemptCount)
            }
        },
        Defect(
            "key-per-person-and-kind",
            "all pushes with the same text to one user share an idempotency key",
            breaks: "O-03"
        ) {
            let correctRule = $0.outbox.persist
            $0.outbox.persist = { db, draft in
                var draft = draft
                draft.key = Outbox.key(for: draft.recipient + "/" + draft.text)
                try correctRule(db, draft)
            }
        },
        Defect(
            "told-once-for-ever",
            "a user gets each kind of push about a product only once",
            breaks: "S-31"
        ) {
            let correctRule = $0.notification.isMessageStillTrue
            $0.notification.isMessageStillTrue = { store, db, event, user in
                let isMessageStillTrue = try correctRule(store, db, event, user)
                guard isMessageStillTrue, ["BILLING_ISSUE", "EXPIRATION"].contains(event.type)
                else {
                    return isMessageStillTrue
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
            "the text of a push depends only on the event, not on the user's access",
            breaks: "S-31"
        ) {
            $0.notification.isMessageStillTrue = { _, _, _, _ in true }
        },
        Defect(
            "recipient-encoded",
            "the user ID in a push is percent-encoded",
            breaks: "O-01"
        ) {
            let correctRule = $0.notification.recipient
            $0.notification.recipient = { user, event in
                let id = correctRule(user, event)
                let unreservedCharacters = CharacterSet.alphanumerics.union(
                    CharacterSet(charactersIn: "-_.~")
                )
                return id.addingPercentEncoding(withAllowedCharacters: unreservedCharacters) ?? id
            }
        },
    ]
}
