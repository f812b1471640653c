internal import Foundation
internal import GRDB
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in the effects of events on access (effect table C.1
/// of the identity rules).
extension Defect {
    static let entitlement: [Defect] = [
        Defect(
            "status-from-type",
            "access depends on the type of the last event",
            breaks: "S-10"
        ) {
            let begin: Set = ["INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION"]
            let lastEventTypeByPurchase = NIOLockedValueBox<[String: String]>([:])
            $0.afterApplyingEvent { db, event in
                guard event.concernsPurchase, let productID = event.productID,
                    let userID = try Defect.userID(db, event)
                else { return }
                lastEventTypeByPurchase.withLockedValue {
                    $0["\(userID)/\(productID)"] = event.type
                }
            }
            let correctRule = $0.entitlement.givesAccess
            $0.entitlement.givesAccess = { subscription, now in
                let key = "\(subscription.userID)/\(subscription.productID)"
                return lastEventTypeByPurchase.withLockedValue { $0[key] }.map(begin.contains)
                    ?? correctRule(subscription, now)
            }
        },
        Defect(
            "access-decided-once",
            "access is computed when an event arrives, and kept until the next event",
            breaks: "S-10",
            "S-11",
            "S-12"
        ) {
            let cachedDecisions = NIOLockedValueBox<[Subscription: Bool]>([:])
            let correctRule = $0.entitlement.givesAccess
            $0.entitlement.givesAccess = { subscription, now in
                cachedDecisions.withLockedValue { cachedDecisions in
                    let ruleResult = cachedDecisions[subscription] ?? correctRule(subscription, now)
                    cachedDecisions[subscription] = ruleResult
                    return ruleResult
                }
            }
        },
        Defect(
            "view-kept",
            "a cached state is cleared only by purchases and renewals",
            breaks: "S-10",
            "S-17"
        ) {
            $0.cacheSubscriptionProbes { event in
                let startsPeriod = ["INITIAL_PURCHASE", "RENEWAL"].contains(event.type)
                return startsPeriod ? [event.appUserID].compactMap { $0 } : []
            }
        },
        Defect(
            "view-kept-after-transfer",
            "a cached state is not cleared by a TRANSFER",
            breaks: "S-17"
        ) {
            $0.cacheSubscriptionProbes { [$0.appUserID].compactMap { $0 } }
        },
        Defect(
            "expiry-ignored",
            "access ends only when an event ends it, not at the expiry",
            breaks: "S-10",
            "S-12"
        ) {
            $0.entitlement.givesAccess = { subscription, _ in !subscription.hasEnded }
        },
        Defect("cancellation-revokes", "CANCELLATION ends access at once", breaks: "S-11") {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                correctRule(&subscription, event)
                subscription.hasEnded = true
            }
        },
        Defect(
            "refund-by-its-date",
            "a refund without an expiration date is ignored",
            breaks: "S-11"
        ) {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                let hasExpiryDate = event.expiresAt != nil
                if event.cancelReason != "CUSTOMER_SUPPORT" || hasExpiryDate {
                    correctRule(&subscription, event)
                }
            }
        },
        Defect(
            "trial-cancellation-ends",
            "the cancellation of a trial ends access at once",
            breaks: "S-11"
        ) {
            let (read, cancel) = ($0.route.read, $0.entitlement.cancel)
            let trialEventIDs = NIOLockedValueBox<Set<String>>([])
            $0.route.read = { body in
                let event = try read(body)
                if RawEvent(body).text("period_type") == "TRIAL" {
                    trialEventIDs.withLockedValue { _ = $0.insert(event.id) }
                }
                return event
            }
            $0.entitlement.cancel = { subscription, event in
                cancel(&subscription, event)
                if trialEventIDs.withLockedValue({ $0.contains(event.id) }) {
                    subscription.hasEnded = true
                }
            }
        },
        Defect("refund-keeps-access", "a refund does not end access", breaks: "S-11") {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                let subscriptionBeforeEvent = subscription
                correctRule(&subscription, event)
                guard event.cancelReason == "CUSTOMER_SUPPORT" else { return }
                subscription.expiresAt = subscriptionBeforeEvent.expiresAt
                subscription.graceEndsAt = subscriptionBeforeEvent.graceEndsAt
            }
        },
        Defect("billing-issue-revokes", "BILLING_ISSUE ends access", breaks: "S-12") {
            let correctRule = $0.entitlement.recordFailedPayment
            $0.entitlement.recordFailedPayment = { subscription, event in
                correctRule(&subscription, event)
                subscription.hasEnded = true
            }
        },
        Defect("grace-ignored", "the grace period is not stored", breaks: "S-12") {
            $0.entitlement.recordFailedPayment = { subscription, _ in
                subscription.billingIssue = true
                subscription.graceEndsAt = nil
            }
        },
        Defect(
            "billing-flag-recomputed",
            "the CANCELLATION with a billing issue clears the billing issue",
            breaks: "S-12"
        ) {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                correctRule(&subscription, event)
                subscription.billingIssue = false
            }
        },
        Defect(
            "renewal-keeps-flags",
            "a RENEWAL clears neither the cancellation nor the billing issue",
            breaks: "S-13"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let subscriptionBeforeEvent = subscription
                correctRule(&subscription, event)
                subscription.willRenew = subscriptionBeforeEvent.willRenew
                subscription.billingIssue = subscriptionBeforeEvent.billingIssue
                subscription.pendingProductID = subscriptionBeforeEvent.pendingProductID
            }
        },
        Defect(
            "uncancellation-ignored",
            "an UNCANCELLATION does not turn the renewal back on",
            breaks: "S-13"
        ) {
            $0.entitlement.uncancel = { _, _ in }
        },
        Defect(
            "recovery-clears-all",
            "a recovered payment clears the flags of every subscription of the user",
            breaks: "S-13"
        ) {
            $0.afterApplyingEvent { db, event in
                guard ["RENEWAL", "UNCANCELLATION"].contains(event.type) else { return }
                try Defect.updateSubscriptions("billingIssue = 0, willRenew = 1", db, event)
            }
        },
        Defect(
            "recovery-ends-every-grace",
            "a renewal clears the billing issues of every subscription of the user",
            breaks: "S-13"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "RENEWAL" else { return }
                try Defect.updateSubscriptions("billingIssue = 0, graceEndsAt = NULL", db, event)
            }
        },
        Defect(
            "expiry-in-seconds",
            "the end of a period is truncated to seconds",
            breaks: "S-32"
        ) {
            let correctRule = $0.probes.subscriptionFields
            $0.probes.subscriptionFields = { subscription, givesAccess in
                var subscription = subscription
                subscription.expiresAt = subscription.expiresAt.map { $0 / 1000 * 1000 }
                return correctRule(subscription, givesAccess)
            }
        },
        Defect(
            "moments-in-seconds",
            "the times of events are truncated to seconds",
            breaks: "S-09"
        ) {
            $0.changeParsedEvents { event, _ in event.timestamp = event.timestamp / 1000 * 1000 }
        },
        Defect(
            "pending-product-stays",
            "a product change stays pending after the renewal that completes it",
            breaks: "S-14"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                correctRule(&subscription, event)
                if event.type == "RENEWAL" { subscription.pendingProductID = event.productID }
            }
        },
        Defect(
            "change-waits-for-its-product",
            "a product change stays pending after a renewal of the old product",
            breaks: "S-14"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let pendingProductBeforeEvent = subscription.pendingProductID
                correctRule(&subscription, event)
                if event.type == "RENEWAL", pendingProductBeforeEvent != event.productID {
                    subscription.pendingProductID = pendingProductBeforeEvent
                }
            }
        },
        Defect(
            "family-share-unpaid",
            "the purchase event of a family member is ignored",
            breaks: "S-10"
        ) {
            let correctRule = $0.delivery.unlocksAccess
            $0.delivery.unlocksAccess = { !$0.isFamilyShared && correctRule($0, $1) }
        },
        Defect(
            "any-entitlement-unlocks",
            "a product that unlocks only another entitlement gives access",
            breaks: "S-10"
        ) {
            let correctRule = $0.delivery.unlocksAccess
            $0.delivery.unlocksAccess = { event, entitlement in
                !event.entitlements.isEmpty || correctRule(event, entitlement)
            }
        },
        Defect(
            "one-time-means-once",
            "a one-time product cannot be bought again",
            breaks: "S-16"
        ) {
            $0.ignorePeriodStart("NON_RENEWING_PURCHASE")
        },
        Defect(
            "product-change-at-once",
            "a PRODUCT_CHANGE changes the current product at once",
            breaks: "S-14"
        ) {
            let correctRule = $0.entitlement.changeProduct
            $0.entitlement.changeProduct = { subscription, event in
                correctRule(&subscription, event)
                subscription.productID = event.newProductID ?? subscription.productID
            }
        },
        Defect(
            "pending-product-forgotten",
            "the new product of a deferred product change is not stored",
            breaks: "S-14"
        ) {
            $0.entitlement.changeProduct = { subscription, _ in subscription.pendingProductID = nil
            }
        },
        Defect(
            "new-product-ignored",
            "the renewal that completes a product change is ignored",
            breaks: "S-14"
        ) {
            let correctRule = $0.delivery.isStale
            $0.delivery.isStale = { event, storedSubscription in
                storedSubscription == nil && event.type == "RENEWAL"
                    || correctRule(event, storedSubscription)
            }
        },
        Defect(
            "expiration-ends-all",
            "EXPIRATION ends every subscription of the user",
            breaks: "S-15"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "EXPIRATION" else { return }
                try Defect.updateSubscriptions("hasEnded = 1", db, event)
            }
        },
        Defect(
            "old-period-ends",
            "the EXPIRATION of an earlier period ends access if it arrives late",
            breaks: "S-15"
        ) {
            $0.delivery.isStale = { event, storedSubscription in
                event.timestamp < storedSubscription?.asOf ?? .min
            }
        },
        Defect(
            "refund-ends-all",
            "a refund ends every subscription of the user",
            breaks: "S-15"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "CANCELLATION", event.cancelReason == "CUSTOMER_SUPPORT" else {
                    return
                }
                try Defect.updateSubscriptions("hasEnded = 1", db, event)
            }
        },
        Defect(
            "expiration-by-date",
            "an EXPIRATION only stores its expiry date and does not end access",
            breaks: "S-15",
            "S-12"
        ) {
            $0.entitlement.endSubscription = { subscription, event in
                subscription.hasEnded = false
                subscription.expiresAt = event.expiresAt
                subscription.willRenew = false
            }
        },
        Defect("expiration-ignored", "an EXPIRATION does not end access", breaks: "S-15", "S-10") {
            $0.entitlement.endSubscription = { _, _ in }
        },
    ]
}

extension Policies {
    /// Caches responses about the subscriptions of a user until an event clears them.
    fileprivate mutating func cacheSubscriptionProbes(
        until clearedUserIDs: @escaping @Sendable (WebhookEvent) -> [String]
    ) {
        let cachedResponses = NIOLockedValueBox<[String: Response]>([:])
        probes.probeResponse = { kind, id, makeResponse in
            guard kind == .subscription else { return try await makeResponse() }
            if let response = cachedResponses.withLockedValue({ $0[id] }) { return response }
            let response = try await makeResponse()
            cachedResponses.withLockedValue { $0[id] = response }
            return response
        }
        afterApplyingEvent { _, event in
            cachedResponses.withLockedValue { for id in clearedUserIDs(event) { $0[id] = nil } }
        }
    }
}
