package import Contracts
internal import Grammar
internal import Providers
internal import Redaction
internal import Values

extension SavedRun {
    /// Returns the lines of a saved run without its secrets; judging the lines again gives the same
    /// verdicts.
    ///
    /// Each secret is replaced by a mark, which is the same in the whole file. When the marks would
    /// change the verdict of a case, the case is written with its findings and without its
    /// evidence.
    ///
    /// - Parameters:
    ///   - report: The run, with its secrets in clear text.
    ///   - profile: The profile, which declares the secrets beyond the built-in tables.
    ///   - key: The key of the hash from which marks are made; it is never written to the file.
    /// - Returns: A head line, and a line for every case.
    /// - Throws: An error when a value cannot be encoded, which does not occur with real runs.
    package static func lines(
        _ report: RunReport,
        profile: Profile,
        key: UInt64 = .random(in: .min ... .max)
    ) throws -> [String] {
        let writer = try SavedRunWriter(profile: profile, key: key)
        return try [writer.head(report)] + report.cases.map(writer.line)
    }

    static let options = JSONValue.ParseOptions(depthMax: 100_000, duplicateKeys: .keep)
}

/// Writes the lines of a saved run without its secrets, one line at a time.
package struct SavedRunWriter: Sendable {
    private let profile: Profile
    /// The profile as it will be read back from the file, with its secrets masked.
    private var maskedProfile: Profile
    private let key: UInt64
    private let declaredSecrets: SecretDeclaration
    private let known: KnownSecrets

    /// Creates a writer for the runs of one profile.
    ///
    /// - Parameters:
    ///   - profile: The profile, which declares the secrets beyond the built-in tables.
    ///   - key: The key of the hash from which marks are made; it is never written to the file.
    /// - Throws: An error when the profile cannot be encoded, which does not occur in practice.
    package init(
        profile: Profile,
        key: UInt64 = .random(in: .min ... .max)
    ) throws {
        self.profile = profile
        self.key = key
        maskedProfile = profile
        let declaredSecrets = SecretDeclaration(profile)
        self.declaredSecrets = declaredSecrets
        known = KnownSecrets(declaredSecrets.values) { name in
            // `SecretRule` reports a response with this mark. Values that the profile does not
            // declare, but contains under the name of a secret, get a different mark. `SecretRule`
            // does not report them, because the backend may have them from another source.
            declaredSecrets.foundSecretNames.contains(name)
                ? Self.keyedFingerprint(declaredSecrets.values[name]?.exposed ?? "", key)
                : SecretRule.mark + name + "›"
        }
        let text = try text(profile.redacted(by: profileRedaction), redaction())
        maskedProfile = try JSONValue(parsing: Array(text.utf8), options: SavedRun.options)
            .decoded(as: Profile.self)
    }

    /// Returns the first line, the head, of a saved run that is over.
    package func head(_ report: RunReport) throws -> String {
        try text(head(of: report), redaction())
    }

    /// Returns the first line, the head, of a saved run that is still going on.
    ///
    /// - Parameters:
    ///   - report: The report of the run, without its cases.
    ///   - planned: The IDs of all cases; nil when the cases are generated during the run.
    /// - Returns: One line of JSON.
    /// - Throws: An error when a value cannot be encoded, which does not occur with real runs.
    package func head(running report: RunReport, planned: [String]?) throws -> String {
        var head = head(of: report)
        head.isRunning = true
        head.planned = planned
        head.caseCount = planned?.count
        return try text(head, redaction())
    }

    private func head(of report: RunReport) -> SavedRun.Head {
        let redaction = redaction()
        var cleanReport = report
        cleanReport.target = redaction.text(report.target)
        cleanReport.notes = report.notes.map(redaction.text)
        cleanReport.seed = redaction.words(report.seed)
        return SavedRun.Head(cleanReport, profile: profile.redacted(by: profileRedaction))
    }

    /// The values that were found in a case under the name of a secret, such as `password`.
    ///
    /// They are also masked in all other positions of the case.
    private final class NamedSecretValues {
        var values: Set<String> = []
    }

    private func redaction(
        known: KnownSecrets? = nil,
        isHarmless: @escaping (String) -> Bool = { _ in false },
        onSecretFound: @escaping (String) -> Void = { _ in }
    ) -> Redaction {
        Redaction(
            known: known ?? self.known,
            kind: Redaction.kindLookup(declaredSecrets.names),
            isHarmless: isHarmless,
            mask: { _, value in
                onSecretFound(value)
                return Self.keyedFingerprint(value, key)
            }
        )
    }

    /// The redaction that removes secrets from the profile; a template such as `{{port}}` is not a
    /// secret.
    private var profileRedaction: Redaction {
        redaction(isHarmless: { !SecretDeclaration.isLiteral($0) })
    }

    /// Returns the mark that replaces a secret.
    ///
    /// It does not contain the kind of the secret, because one value may occur under two names.
    private static func keyedFingerprint(_ value: String, _ key: UInt64) -> String {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(value)
        return "‹masked:" + String(UInt(bitPattern: hasher.finalize()), radix: 16) + "›"
    }

    /// Returns a value as one line of JSON, in which all words that look like secrets are masked.
    private func text(_ value: some Encodable, _ redaction: Redaction) throws -> String {
        try JSONValue(encoding: value).mapLeaves { leaf in
            leaf.string.map { .string(redaction.words($0)) } ?? leaf
        }.text
    }

    /// Returns the line of one case in the file of a saved run.
    package func line(_ result: CaseResult) throws -> String {
        guard let judgment = result.judgment else {
            return try text(entryWithoutEvidence(result, redaction()), redaction())
        }
        let evidence = judgment.evidence
        let generatedValues = try GeneratedValues(evidence)
        let namedSecrets = NamedSecretValues()
        let firstRedaction = redaction(isHarmless: generatedValues.contains) {
            namedSecrets.values.insert($0)
        }
        var entry = SavedRun.Entry(result)
        entry.note = result.note.map(firstRedaction.text)
        entry.backendOutput = result.backendOutput.map(firstRedaction.text)
        entry.subject = evidence.subject.redacted(by: firstRedaction)
        entry.baselines = evidence.baselines.map { $0.redacted(by: firstRedaction) }
        entry.observability = evidence.observability.redacted(by: firstRedaction)
        var secretsOfCase = known
        for value in namedSecrets.values.sorted() where SecretDeclaration.isDistinctive(value) {
            secretsOfCase.add(value, Self.keyedFingerprint(value, key), isPermanent: true)
        }
        let secondRedaction = redaction(known: secretsOfCase, isHarmless: generatedValues.contains)
        let line = try text(entry, secondRedaction)
        return givesSameOutcome(line, as: judgment)
            ? line : try text(entryWithoutEvidence(result, secondRedaction), secondRedaction)
    }

    /// Returns the entry of a case without its evidence, so that the case keeps its verdict and is
    /// not judged again.
    private func entryWithoutEvidence(_ result: CaseResult, _ redaction: Redaction)
        -> SavedRun.Entry
    {
        var result = result.redacted(by: redaction)
        result.judgment = nil
        return SavedRun.Entry(result)
    }

    /// Returns whether the masked evidence in a line gives the verdict of the original evidence.
    private func givesSameOutcome(_ line: String, as judgment: CaseJudgment) -> Bool {
        // A line that cannot be read back counts as a line with another verdict. It is then saved
        // without its evidence.
        let entry = try? JSONValue(parsing: Array(line.utf8), options: SavedRun.options)
            .decoded(as: SavedRun.Entry.self)
        guard let maskedJudgment = entry?.judgment(maskedProfile) else { return false }
        return judgment.verdict == maskedJudgment.verdict
            && judgment.findings.map(\.code) == maskedJudgment.findings.map(\.code)
    }
}

extension RunRecord {
    fileprivate func redacted(by redaction: Redaction) -> RunRecord {
        var copy = self
        copy.exchanges = exchanges.map(redaction.exchange)
        copy.backendExitReason = backendExitReason.map(redaction.text)
        return copy
    }
}

extension RunRecord.Observability {
    fileprivate func redacted(by redaction: Redaction) -> RunRecord.Observability {
        var copy = self
        copy.plainPurchaseStatus = plainPurchaseStatus.map(redaction.text)
        copy.unknownUserDocuments = unknownUserDocuments?.mapValues(redaction.json)
        return copy
    }
}

/// The values that a run generated from the names in a contract, such as user IDs and passwords.
///
/// They look like secrets but are not.
private struct GeneratedValues {
    private var values: Set<String> = []

    /// The maximum length in bytes of a name in a contract.
    ///
    /// A longer string is not a name, and is redacted.
    private static let nameLengthMax = 40

    init(_ evidence: CaseEvidence) throws {
        let contract = try JSONValue(encoding: evidence.plan.contract)
        var names = Set(evidence.plan.subject.users)
        Self.collectNames(contract, into: &names)
        for record in [evidence.subject] + evidence.baselines {
            var templates = TemplateValues(namespace: record.namespace, base: record.base)
            for name in names {
                values.insert(record.namespace.id(of: name))
                values.insert(record.namespace.accountID(of: name))
                values.insert(record.namespace.emailAddress(of: name))
                values.insert(record.namespace.password(of: name))
                values.insert(record.namespace.installID(of: name))
                values.insert(templates.fill("{{some.\(name)}}"))
            }
        }
    }

    /// Collects all strings of a contract, given as JSON, that may name a user, an account or a
    /// generated value.
    private static func collectNames(_ value: JSONValue, into names: inout Set<String>) {
        switch value {
        case .object(let object):
            for member in object.members {
                names.insert(member.key)
                collectNames(member.value, into: &names)
            }
        case .array(let elements): for element in elements { collectNames(element, into: &names) }
        case .string(let text):
            if text.utf8.count <= nameLengthMax { names.insert(text) }
            for part in text.split(separator: "{{").dropFirst() {
                let placeholder = part.prefix { $0 != "}" }
                if let dot = placeholder.firstIndex(of: ".") {
                    names.insert(String(placeholder[placeholder.index(after: dot)...]))
                }
            }
        case .null, .bool, .number: break
        }
    }

    func contains(_ value: String) -> Bool { values.contains(value) }
}
