import Conformance
import Providers
import Testing

@Suite("Forged tokens")
struct TokenForgeTests {
    @Test func `a signature that nobody can decode stands behind a perfect token`() throws {
        let now = Instant(milliseconds: 1_700_000_000_000)
        let key = try SigningKey(at: now)
        let forge = TokenForge(
            project: "p",
            key: key,
            cookieKey: nil,
            unpublishedKey: nil,
            withdrawn: nil
        )
        func parts(_ signing: TokenSpec.Signing) throws -> [Substring] {
            var spec = TokenSpec()
            spec.signing = signing
            let text = try #require(forge.text(spec, user: "ada", at: now))
            return text.split(separator: ".", omittingEmptySubsequences: false)
        }
        let (good, bad) = (try parts(.genuine), try parts(.illegible))
        #expect(good.count == 3)
        #expect(good.dropLast() == bad.dropLast())
        // One character is another: whoever passes over it has lost one.
        #expect(zip(good[2], bad[2]).count { $0 != $1 } == 1)
        #expect(good[2].count == bad[2].count)
        #expect(bad[2].contains("*"))
    }
}
