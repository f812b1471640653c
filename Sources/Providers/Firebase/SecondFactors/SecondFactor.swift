internal import Crypto
package import Values

/// A second step of a sign-in with a code.
///
/// The code is sent to a phone, or an app computes it from a shared secret (Identity Platform's
/// reference; RFC 6238).
package struct SecondFactor: Hashable, Codable, Sendable {
    package let id: String
    package var displayName: String?
    package let enrolled: Instant
    /// The phone number to which codes are sent.
    ///
    /// Nil for an app that computes codes.
    package var phoneNumber: String?
    /// The secret in Base32 that is shared with an app.
    ///
    /// Nil for a phone.
    package var secret: String?
    /// The time step of the last code that was accepted.
    ///
    /// No code is accepted twice (RFC 6238, section 5.2).
    var usedStep: Int64?

    /// The second factor with which a user signed in, as a token contains it.
    struct Proof: Hashable, Sendable {
        let id: String
        /// The kind of the second factor: `phone` or `totp`.
        let kind: String

        init(_ factor: SecondFactor) {
            (id, kind) = (factor.id, factor.secret == nil ? "phone" : "totp")
        }

        /// Creates a proof from the claims of a token; returns nil when the token contains no
        /// second factor.
        init?(id: String?, kind: String?) {
            guard let id, let kind else { return nil }
            (self.id, self.kind) = (id, kind)
        }
    }

    /// Returns the second factor in the format of the API.
    ///
    /// `masksPhoneNumber` masks the phone number, for a user who has not passed the second step.
    func factorJSON(masksPhoneNumber: Bool) -> JSONValue {
        var factorJSON = JSONObject.present([
            ("mfaEnrollmentId", .string(id)), ("displayName", displayName.map(JSONValue.string)),
            ("enrolledAt", .string(enrolled.preciseText)),
        ])
        if let phoneNumber {
            let text = masksPhoneNumber ? Self.maskedPhoneNumber(phoneNumber) : phoneNumber
            factorJSON["phoneInfo"] = .string(text)
            if !masksPhoneNumber { factorJSON["unobfuscatedPhoneInfo"] = .string(phoneNumber) }
        } else {
            factorJSON["totpInfo"] = [:]
        }
        return .object(factorJSON)
    }

    /// Returns a phone number in which stars replace all digits except the last four.
    private static func maskedPhoneNumber(_ number: String) -> String {
        var visibleDigitCount = 4
        let text = number.reversed().map { character -> Character in
            guard character.isNumber else { return character }
            visibleDigitCount -= 1
            return visibleDigitCount >= 0 ? character : "*"
        }
        return String(text.reversed())
    }

    // MARK: Codes of an app

    static let codeLength = 6
    /// The length of a time step of TOTP codes, in seconds.
    static let periodSeconds: Int64 = 30

    /// Returns the TOTP code for a time (RFC 6238 with SHA-1).
    ///
    /// - Parameters:
    ///   - secret: The shared secret in Base32.
    ///   - time: The time at which the code is entered.
    ///   - steps: The number of time steps by which the code is later than `time`; negative for
    ///     earlier.
    /// - Returns: The code, which has six digits.
    package static func code(of secret: String, at time: Instant, shifted steps: Int64 = 0)
        -> String
    {
        let timeStepCounter = UInt64(bitPattern: time.seconds / periodSeconds + steps)
        let message = (0..<8).reversed().map {
            UInt8(truncatingIfNeeded: timeStepCounter >> ($0 * 8))
        }
        let code = Array(
            HMAC<Insecure.SHA1>.authenticationCode(
                for: message,
                using: SymmetricKey(data: Base32.bytes(secret) ?? [])
            )
        )
        let truncationOffset = Int((code.last ?? 0) & 0xf)
        let number = code[truncationOffset..<(truncationOffset + 4)].reduce(UInt32(0)) {
            $0 << 8 | UInt32($1)
        }
        let text = String((number & 0x7fff_ffff) % 1_000_000)
        return String(repeating: "0", count: codeLength - text.count) + text
    }

    /// Returns the time step of a TOTP code that is near the current time and not yet used.
    ///
    /// Returns nil for any other code.
    static func step(
        of text: String,
        _ secret: String,
        at now: Instant,
        within steps: Int64,
        after lastUsedStep: Int64? = nil
    ) -> Int64? {
        let currentStep = now.seconds / periodSeconds
        return (-steps...steps).first {
            currentStep + $0 > lastUsedStep ?? .min
                && code(of: secret, at: now, shifted: $0) == text
        }.map { currentStep + $0 }
    }
}
