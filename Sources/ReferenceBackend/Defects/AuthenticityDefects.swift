internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Who may deliver: defects of the Authorization value and the signature.
extension Defect {
    static let authenticity: [Defect] = [
        Defect("no-authorization-check", "anybody may deliver", breaks: "S-01") {
            $0.authenticity.isAuthorized = { _, _ in true }
        },
        Defect(
            "authorization-missing-allowed",
            "a request without Authorization passes",
            breaks: "S-01"
        ) {
            let correct = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in value == nil || correct(value, secret)
            }
        },
        Defect("authorization-prefix", "any beginning of the secret passes", breaks: "S-01") {
            let correct = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                let isHalf =
                    value.map { $0.count > secret.count / 2 && secret.hasPrefix($0) } ?? false
                return isHalf || correct(value, secret)
            }
        },
        Defect("authorization-extra", "anything may follow the secret", breaks: "S-01") {
            let correct = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                value?.hasPrefix(secret) == true || correct(value, secret)
            }
        },
        Defect(
            "authorization-any-case",
            "the secret is compared without regard to case",
            breaks: "S-01"
        ) {
            let correct = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                correct(value?.lowercased(), secret.lowercased())
            }
        },
        Defect("authorization-scheme-only", "the word Bearer alone passes", breaks: "S-01") {
            let correct = $0.authenticity.isAuthorized
            $0.authenticity.isAuthorized = { value, secret in
                value == "Bearer" || correct(value, secret)
            }
        },
        Defect("signature-ignored", "the signature is not checked", breaks: "S-01") {
            $0.authenticity.isSigned = { _, _, _, _ in true }
        },
        Defect("signature-missing-allowed", "a request without signature passes", breaks: "S-01") {
            let correct = $0.authenticity.isSigned
            $0.authenticity.isSigned = { header, body, key, ageMax in
                header == nil || correct(header, body, key, ageMax)
            }
        },
        Defect(
            "signature-over-new-json",
            "the signature is checked over letters that a JSON library has escaped anew",
            breaks: "S-01",
            "S-08"
        ) {
            let correct = $0.authenticity.isSigned
            $0.authenticity.isSigned = { header, body, key, ageMax in
                correct(header, RawEvent.escapedAnew(body), key, ageMax)
            }
        },
        Defect("signature-age-ignored", "an old signature passes for ever", breaks: "S-01") {
            $0.authenticity.ageMax = .max
        },
        Defect(
            "signature-once",
            "a second signature for the same event is refused",
            breaks: "S-01"
        ) {
            let correct = $0.authenticity.isSigned
            let seen = NIOLockedValueBox<[Data: String]>([:])
            $0.authenticity.isSigned = { header, body, key, ageMax in
                guard correct(header, body, key, ageMax), let header else { return false }
                let first = seen.withLockedValue { seen in
                    seen[body] = seen[body] ?? header
                    return seen[body]
                }
                return first == header
            }
        },
        Defect(
            "refused-counts-as-seen",
            "an event that was refused is remembered as seen",
            breaks: "S-01"
        ) {
            let seen = NIOLockedValueBox<Set<String>>([])
            let (refused, read, perform) = ($0.route.refused, $0.route.read, $0.delivery.perform)
            $0.route.refused = { body in
                if let event = try? read(body) { seen.withLockedValue { _ = $0.insert(event.id) } }
                return refused(body)
            }
            $0.delivery.perform = { steps in
                if seen.withLockedValue({ $0.contains(steps.event.id) }) { return .duplicate }
                return try await perform(steps)
            }
        },
    ]
}
