import Redaction
import Testing

@Suite("Known secret values are masked")
struct KnownSecretsTests {
    /// Values such as signed tokens begin with the same characters.
    private static func token(_ number: Int) -> String { "eyJhbGciOi\(number)" }

    @Test("a new value removes only the oldest value", arguments: [1, 2, 7])
    func removesOldestValue(countMax: Int) {
        var secrets = KnownSecrets(removableValueCountMax: countMax)
        secrets.add("eyJhpermanent", "‹permanent›", isPermanent: true)
        for number in 10..<30 {
            secrets.add(Self.token(number), "‹\(number)›", isPermanent: false)
            let kept = (10...number).filter { other in
                secrets.maskingSecrets(in: Self.token(other)) == "‹\(other)›"
            }
            #expect(kept == Array((10...number).suffix(countMax)))
        }
        #expect(secrets.maskingSecrets(in: "eyJhpermanent") == "‹permanent›")
    }
}
