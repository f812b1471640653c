internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in checking the Authorization value and the signature
/// of RevenueCat webhooks.
extension Defect {
    static let authenticity: [Defect] = [
        Defect(
            "no-authorization-check",
            "the Authorization header is not checked",
            breaks: "S-01"
        ) {
            $0.authenticity.isAuthorized = { _, _ in true }
        },
        Defect(
            "unset-secrets-allowed",
            "every event is accepted when no secret is configured",
            breaks: "S-01"
        ) {
            $0.authenticity.acceptsEverySender = { authorization, signingKey in
                authorization == nil && signingKey == nil
            }
        },
        Defect(
            "unset-authorization-allowed",
            "every event is accepted when no Authorization value is configured",
            breaks: "S-01"
        ) {
            $0.authenticity.acceptsEverySender = { authorization, _ in authorization == nil }
        },
        Defect(
            "unset-signing-key-allowed",
            "every event is accepted when no signing key is configured",
            breaks: "S-01"
        ) {
            $0.authenticity.acceptsEverySender = { _, signingKey in signingKey == nil }
        },
        Defect(
            "authorization-missing-allowed",
            "a request without an Authorization header is accepted",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                value == nil || correctRule(value, secret)
            }
        },
        Defect(
            "authorization-prefix",
            "an Authorization header with a prefix of the secret is accepted",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                let matchesHalfOfSecret =
                    value.map { $0.count > secret.count / 2 && secret.hasPrefix($0) } ?? false
                return matchesHalfOfSecret || correctRule(value, secret)
            }
        },
        Defect(
            "authorization-extra",
            "an Authorization header with extra characters is accepted",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                value?.hasPrefix(secret) == true || correctRule(value, secret)
            }
        },
        Defect(
            "authorization-any-case",
            "the Authorization header is compared without regard to case",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                correctRule(value?.lowercased(), secret.lowercased())
            }
        },
        Defect(
            "authorization-scheme-ignored",
            "the scheme in an Authorization header is not compared",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                func secretPart(_ value: String) -> String {
                    value.split(separator: " ").last.map(String.init) ?? value
                }
                return correctRule(value.map(secretPart), secretPart(secret))
            }
        },
        Defect(
            "authorization-scheme-only",
            "an Authorization header with only the word Bearer is accepted",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                value == "Bearer" || correctRule(value, secret)
            }
        },
        Defect("signature-ignored", "the signature of an event is not checked", breaks: "S-01") {
            $0.authenticity.isSigned = { _, _, _, _ in true }
        },
        Defect(
            "signature-missing-allowed",
            "a request without a signature is accepted",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isSigned
            $0.authenticity.isSigned = { header, body, key, ageMaxInSeconds in
                header == nil || correctRule(header, body, key, ageMaxInSeconds)
            }
        },
        Defect(
            "signature-over-new-json",
            "the signature is checked over re-encoded JSON instead of the body",
            breaks: "S-01",
            "S-08"
        ) {
            let correctRule = $0.authenticity.isSigned
            $0.authenticity.isSigned = { header, body, key, ageMaxInSeconds in
                correctRule(header, RawEvent.escapingNonASCII(body), key, ageMaxInSeconds)
            }
        },
        Defect(
            "signature-age-ignored",
            "the age of an event's signature is not checked",
            breaks: "S-01"
        ) {
            $0.authenticity.ageMaxInSeconds = .max
        },
        Defect(
            "signature-once",
            "a retry of an event with a fresh signature is refused",
            breaks: "S-01"
        ) {
            let correctRule = $0.authenticity.isSigned
            let seenRequests = NIOLockedValueBox<[Data: String]>([:])
            $0.authenticity.isSigned = { header, body, key, ageMaxInSeconds in
                guard correctRule(header, body, key, ageMaxInSeconds), let header else {
                    return false
                }
                let firstSignatureHeader = seenRequests.withLockedValue { seenRequests in
                    seenRequests[body] = seenRequests[body] ?? header
                    return seenRequests[body]
                }
                return firstSignatureHeader == header
            }
        },
        Defect(
            "refused-counts-as-seen",
            "a refused event is stored as processed",
            breaks: "S-01"
        ) {
            let seenRequests = NIOLockedValueBox<Set<String>>([])
            let (unauthorizedResponse, read, performSteps) = (
                $0.route.unauthorizedResponse, $0.route.read, $0.delivery.performSteps
            )
            $0.route.unauthorizedResponse = { body in
                // A body that is not an event has no ID to remember.
                if let event = try? read(body) {
                    seenRequests.withLockedValue { _ = $0.insert(event.id) }
                }
                return unauthorizedResponse(body)
            }
            $0.delivery.performSteps = { steps in
                if seenRequests.withLockedValue({ $0.contains(steps.event.id) }) {
                    return .duplicate
                }
                return try await performSteps(steps)
            }
        },
    ]
}
