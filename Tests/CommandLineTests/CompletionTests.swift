import Foundation
import TestSupport
import Testing

/// What a shell offers when the Tab key is pressed, asked of a real one.
@Suite("Completion")
struct CompletionTests {
    /// What bash offers behind a line, whose last word is being typed.
    private static func offered(_ line: String) async throws -> [String] {
        let script = """
            set -u
            mkdir bin && ln -s '\(Program.path)' bin/assay
            PATH="$PWD/bin:$PATH"
            source <(assay --generate-completion-script bash)
            COMP_LINE='\(line)'
            COMP_POINT=${#COMP_LINE}
            read -ra COMP_WORDS <<< "$COMP_LINE"
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMP_TYPE=9
            COMP_KEY=9
            COMPREPLY=()
            _assay assay "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
            """
        let result = try await Program(["-c", script], executable: "/bin/bash").wait()
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(
        "completion offers IDs, clauses, codes, defects and fixed words",
        arguments: [
            ("assay veri", "verify"), ("assay verify --dry", "--dry-run"),
            ("assay verify --only revenuecat/smoke/f", "revenuecat/smoke/first-purchase"),
            ("assay verify --only S-0", "S-03"),
            (
                "assay verify --only revenuecat/idempotency/duplicate-initial-purchase/c",
                "revenuecat/idempotency/duplicate-initial-purchase/copies:8"
            ),
            ("assay explain E2", "E204"), ("assay explain S-0", "S-05"),
            ("assay explain endpoints.l", "endpoints.login"),
            ("assay backend --defect no-ded", "no-dedupe"), ("assay verify --level sh", "should"),
        ]
    )
    func offers(line: String, word: String) async throws {
        let all = try await Self.offered(line)
        #expect(all.map { $0.trimmingCharacters(in: .whitespaces) }.contains(word), "\(all)")
        // Nothing is offered that does not begin so.
        let typed = line.split(separator: " ").last.map(String.init) ?? ""
        #expect(all.allSatisfy { $0.hasPrefix(typed) })
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `every shell has a script that asks the program`(shell: String) async throws {
        let result = try await Program.run(["--generate-completion-script", shell])
        #expect(result.status == 0)
        #expect(result.output.contains("---completion"))
    }
}
