internal import Foundation
internal import GRDB
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in the periods of access: one-time purchases, grants,
/// extensions, refunds and times (effect table C.1 of the identity rules).
extension Defect {
    static let entitlementPeriods: [Defect] = [
        Defect(
            "consumable-overwrites",
            "a one-time purchase ends the user's subscriptions",
            breaks: "S-16"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "NON_RENEWING_PURCHASE", let productID = event.productID else {
                    return
                }
                try Defect.updateSubscriptions("expiresAt = 0", db, event, except: productID)
            }
        },
        Defect(
            "consumable-grants",
            "a purchase of coins gives access to the subscription",
            breaks: "S-16"
        ) {
            let correctRule = $0.delivery.unlocksAccess
            $0.delivery.unlocksAccess = { event, entitlement in
                event.entitlements.isEmpty || correctRule(event, entitlement)
            }
        },
        Defect("lifetime-expires", "an expiry of null is read as the year 1970", breaks: "S-16") {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                correctRule(&subscription, event)
                subscription.expiresAt = subscription.expiresAt ?? 0
            }
        },
        Defect("promotion-for-ever", "access from a promotional grant never ends", breaks: "S-16") {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                correctRule(&subscription, event)
                if event.isPromotion { subscription.expiresAt = nil }
            }
        },
        Defect("promotion-not-revoked", "a promotional grant cannot be revoked", breaks: "S-11") {
            let (cancel, endSubscription) = ($0.entitlement.cancel, $0.entitlement.endSubscription)
            $0.entitlement.cancel = { if !$1.isPromotion { cancel(&$0, $1) } }
            $0.entitlement.endSubscription = { if !$1.isPromotion { endSubscription(&$0, $1) } }
        },
        Defect("pause-revokes", "SUBSCRIPTION_PAUSED ends access at once", breaks: "S-10") {
            $0.entitlement.pause = { subscription, _ in subscription.hasEnded = true }
        },
        Defect("extension-ignored", "SUBSCRIPTION_EXTENDED changes nothing", breaks: "S-10") {
            $0.ignorePeriodStart("SUBSCRIPTION_EXTENDED")
        },
        Defect("refund-reversed-ignored", "REFUND_REVERSED changes nothing", breaks: "S-11") {
            $0.ignorePeriodStart("REFUND_REVERSED")
        },
        Defect(
            "temporary-grant-ignored",
            "TEMPORARY_ENTITLEMENT_GRANT changes nothing",
            breaks: "S-10"
        ) {
            $0.ignorePeriodStart("TEMPORARY_ENTITLEMENT_GRANT")
        },
        Defect("refund-is-final", "after a refund no event grants access again", breaks: "S-11") {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { if !$0.refunded { correctRule(&$0, $1) } }
        },
        Defect("renewal-keeps-expiry", "a RENEWAL does not change the expiry", breaks: "S-10") {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                guard event.type == "RENEWAL" else { return correctRule(&subscription, event) }
                subscription.willRenew = true
            }
        },
        Defect(
            "renewal-keeps-grace",
            "a RENEWAL does not end the grace period",
            breaks: "S-13"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let graceEnd = subscription.graceEndsAt
                correctRule(&subscription, event)
                if event.type == "RENEWAL" { subscription.graceEndsAt = graceEnd }
            }
        },
        Defect(
            "grace-replaces-expiry",
            "after a failed payment, access ends with the grace period, even before the expiry",
            breaks: "S-12"
        ) {
            let correctRule = $0.entitlement.givesAccess
            $0.entitlement.givesAccess = { subscription, now in
                if let graceEnd = subscription.graceEndsAt, graceEnd <= now { return false }
                return correctRule(subscription, now)
            }
        },
        Defect("refund-keeps-grace", "a refund does not end the grace period", breaks: "S-11") {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                let graceEnd = subscription.graceEndsAt
                correctRule(&subscription, event)
                subscription.graceEndsAt = graceEnd
            }
        },
        Defect(
            "resubscription-keeps-flags",
            "a new INITIAL_PURCHASE does not clear the flags of the earlier one",
            breaks: "S-10"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let (willRenewBeforeEvent, billingIssueBeforeEvent) = (
                    subscription.willRenew, subscription.billingIssue
                )
                correctRule(&subscription, event)
                guard event.type == "INITIAL_PURCHASE" else { return }
                (subscription.willRenew, subscription.billingIssue) = (
                    willRenewBeforeEvent, billingIssueBeforeEvent
                )
            }
        },
        Defect(
            "sandbox-counts",
            "sandbox events are processed like production events",
            breaks: "S-19"
        ) {
            $0.delivery.isSandboxEvent = { _ in false }
        },
        Defect(
            "expiry-by-day",
            "the expiry is stored as a date without a time of day",
            breaks: "S-32",
            "S-10"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                correctRule(&subscription, event)
                subscription.expiresAt = subscription.expiresAt.map { $0 / 86_400_000 * 86_400_000 }
            }
        },
        Defect("local-time", "times are read in the server's time zone", breaks: "S-32") {
            let correctRule = $0.probes.subscriptionFields
            $0.probes.subscriptionFields = { subscription, givesAccess in
                var ruleResult = correctRule(subscription, givesAccess)
                if let expiryInMilliseconds = subscription.expiresAt {
                    var (seconds, localTime) = (time_t(expiryInMilliseconds / 1000), tm())
                    localtime_r(&seconds, &localTime)
                    ruleResult["expiration_at_ms"] =
                        expiryInMilliseconds + Int64(localTime.tm_gmtoff) * 1000
                }
                return ruleResult
            }
        },
        Defect(
            "lifetime-cannot-be-refunded",
            "a purchase without an end cannot be refunded",
            breaks: "S-11"
        ) {
            let correctRule = $0.entitlement.cancel
            $0.entitlement.cancel = { subscription, event in
                if subscription.expiresAt != nil { correctRule(&subscription, event) }
            }
        },
        Defect(
            "purchase-replaces-others",
            "a purchase ends every other subscription of its buyer",
            breaks: "S-15"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "INITIAL_PURCHASE", let userID = try Defect.userID(db, event)
                else { return }
                try db.execute(
                    sql: "UPDATE subscriptions SET hasEnded = 1 WHERE userID = ? "
                        + "AND productID <> ?",
                    arguments: [userID, event.productID]
                )
            }
        },
        Defect(
            "extension-cut-at-grace",
            "access from an extension ends with the earlier grace period",
            breaks: "S-12"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let graceEnd = subscription.graceEndsAt
                correctRule(&subscription, event)
                guard event.type == "SUBSCRIPTION_EXTENDED", let graceEnd else { return }
                subscription.expiresAt = graceEnd
            }
        },
        Defect(
            "extension-renews",
            "an extension is processed like a renewal",
            breaks: "S-13",
            "S-14"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                correctRule(&subscription, event)
                guard event.type == "SUBSCRIPTION_EXTENDED" else { return }
                subscription.willRenew = true
                subscription.billingIssue = false
                subscription.pendingProductID = nil
            }
        },
        Defect(
            "reversal-leaves-the-end",
            "a REFUND_REVERSED event does not undo the EXPIRATION after the refund",
            breaks: "S-10"
        ) {
            let correctRule = $0.entitlement.begin
            $0.entitlement.begin = { subscription, event in
                let hadEnded = subscription.hasEnded
                correctRule(&subscription, event)
                if event.type == "REFUND_REVERSED" { subscription.hasEnded = hadEnded }
            }
        },
        Defect(
            "replacement-known-by-its-date",
            "an EXPIRATION also ends other purchases with the same purchase date",
            breaks: "S-15"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.type == "EXPIRATION", let userID = try Defect.userID(db, event) else {
                    return
                }
                try db.execute(
                    sql: "UPDATE subscriptions SET hasEnded = 1 WHERE userID = ? AND beganAt = ?",
                    arguments: [userID, event.purchasedAt]
                )
            }
        },
        Defect(
            "one-grant-for-each-user",
            "the revocation of a promotional grant ends every grant of the user",
            breaks: "S-15"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.isPromotion, ["CANCELLATION", "EXPIRATION"].contains(event.type) else {
                    return
                }
                try Defect.updateSubscriptions(
                    "hasEnded = CASE store WHEN 'PROMOTIONAL' THEN 1 ELSE hasEnded END",
                    db,
                    event
                )
            }
        },
        Defect(
            "renewal-only-after-the-end",
            "a renewal is ignored if its period began before the end that an EXPIRATION reported",
            breaks: "S-09"
        ) {
            let correctRule = $0.delivery.isStale
            $0.delivery.isStale = { event, storedSubscription in
                if let storedSubscription, storedSubscription.hasEnded, event.type == "RENEWAL",
                    let end = storedSubscription.expiresAt, let start = event.purchasedAt,
                    start < end
                {
                    return true
                }
                return correctRule(event, storedSubscription)
            }
        },
    ]
}
