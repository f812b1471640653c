package import Conformance
internal import Crypto

/// What an account asks for beside the first sign-in: a code that is sent to a phone, or one that an
/// app makes from a shared secret (Identity Platform's reference; RFC 6238).
package struct SecondFactor: Hashable, Codable, Sendable {
    package let id: String
    package var displayName: String?
    package let enrolled: Instant
    /// Where codes are sent to; nil for an app.
    package var phoneNumber: String?
    /// The secret that an app shares, in Base32.
    package var secret: String?
    /// The step of the last code that was taken: none is taken twice (RFC 6238, section 5.2).
    var usedStep: Int64?

    /// What a token says about the factor that was used.
    struct Proof: Hashable, Sendable {
        let id: String
        /// `phone` or `totp`.
        let kind: String

        init(_ factor: SecondFactor) {
            (id, kind) = (factor.id, factor.secret == nil ? "phone" : "totp")
        }

        /// Nil where a token says nothing.
        init?(id: String?, kind: String?) {
            guard let id, let kind else { return nil }
            (self.id, self.kind) = (id, kind)
        }
    }

    /// As the API shows it; hidden to who has not shown it yet.
    func shown(isHidden: Bool) -> JSONValue {
        var shown = JSONObject.present([
            ("mfaEnrollmentId", .string(id)), ("displayName", displayName.map(JSONValue.string)),
            ("enrolledAt", .string(enrolled.preciseText)),
        ])
        if let phoneNumber {
            let text = isHidden ? Self.hidden(phoneNumber) : phoneNumber
            shown["phoneInfo"] = .string(text)
            if !isHidden { shown["unobfuscatedPhoneInfo"] = .string(phoneNumber) }
        } else {
            shown["totpInfo"] = [:]
        }
        return .object(shown)
    }

    /// All digits but the last four are stars.
    private static func hidden(_ number: String) -> String {
        var left = 4
        let text = number.reversed().map { character -> Character in
            guard character.isNumber else { return character }
            left -= 1
            return left >= 0 ? character : "*"
        }
        return String(text.reversed())
    }

    // MARK: Codes of an app

    static let digits = 6
    /// Seconds.
    static let period: Int64 = 30

    /// The code of a moment (RFC 6238 with SHA-1).
    ///
    /// - Parameters:
    ///   - secret: In Base32.
    ///   - time: When the code is typed.
    ///   - steps: How many periods later it is made; less than nothing for earlier.
    /// - Returns: Six digits.
    package static func code(of secret: String, at time: Instant, shifted steps: Int64 = 0)
        -> String
    {
        let counter = UInt64(bitPattern: time.seconds / period + steps)
        let message = (0..<8).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
        let code = Array(
            HMAC<Insecure.SHA1>.authenticationCode(
                for: message,
                using: SymmetricKey(data: Base32.bytes(secret) ?? [])
            )
        )
        let offset = Int((code.last ?? 0) & 0xf)
        let number = code[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let text = String((number & 0x7fff_ffff) % 1_000_000)
        return String(repeating: "0", count: digits - text.count) + text
    }

    /// The step of a code near now that was not used yet; nil when it is none.
    static func step(
        of text: String,
        _ secret: String,
        at now: Instant,
        within steps: Int64,
        after used: Int64? = nil
    ) -> Int64? {
        let current = now.seconds / period
        return (-steps...steps).first {
            current + $0 > used ?? .min && code(of: secret, at: now, shifted: $0) == text
        }.map { current + $0 }
    }
}

/// Base32 (RFC 4648, section 6), in which secrets are typed into apps.
enum Base32 {
    static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

    /// Nil when a character does not belong to it.
    static func bytes(_ text: String) -> [UInt8]? {
        let letters = Array(alphabet.utf8)
        var bytes: [UInt8] = []
        var (word, bits): (UInt32, UInt32) = (0, 0)
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            guard let value = letters.firstIndex(of: byte) else { return nil }
            word = word << 5 | UInt32(value)
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(word >> bits & 0xff))
        }
        return bytes
    }
}
