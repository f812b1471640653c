extension SavedRun {
    /// The lines of a run, without secrets, so that each case is judged from them as it was.
    ///
    /// The same secret has the same mark in the whole file. Where the marks would change what the
    /// rules see, the case is written with its findings and without its evidence.
    ///
    /// - Parameters:
    ///   - report: The run, its secrets in clear.
    ///   - profile: Names what is secret beyond the tables.
    ///   - key: Marks are keyed with it; it is never written.
    /// - Returns: A head, and a line for every case.
    /// - Throws: When a value cannot be encoded, which no run brings about.
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

/// Writes the lines of a saved run without its secrets, each line by itself.
package struct SavedRunWriter: Sendable {
    private let profile: Profile
    /// The profile as a reader of the file gets it.
    private var readProfile: Profile
    private let key: UInt64
    private let declared: SecretDeclaration
    private let known: KnownSecrets

    /// - Parameters:
    ///   - profile: Names what is secret beyond the tables.
    ///   - key: Marks are keyed with it; it is never written.
    /// - Throws: When the profile cannot be encoded, which no profile brings about.
    package init(
        profile: Profile,
        key: UInt64 = .random(in: .min ... .max)
    ) throws {
        self.profile = profile
        self.key = key
        readProfile = profile
        let declared = SecretDeclaration(profile)
        self.declared = declared
        known = KnownSecrets(declared.values) { name in
            // The rule of secrets looks for that mark, and for no value that was only found.
            declared.namesFound.contains(name)
                ? Self.mark(declared.values[name]?.exposed ?? "", key)
                : SecretRule.mark + name + "›"
        }
        let text = try text(profile.redacted(by: profileRedaction), redaction())
        readProfile = try JSONValue(parsing: Array(text.utf8), options: SavedRun.options)
            .decoded(as: Profile.self)
    }

    /// The first line of a run that is over.
    package func head(_ report: RunReport) throws -> String {
        try text(head(of: report), redaction())
    }

    /// The first line of a run that goes on.
    ///
    /// - Parameters:
    ///   - report: The run without its cases.
    ///   - planned: The IDs of all cases; nil where they are drawn as it goes on.
    /// - Returns: One line of JSON.
    /// - Throws: When a value cannot be encoded, which no run brings about.
    package func head(running report: RunReport, planned: [String]?) throws -> String {
        var head = head(of: report)
        head.isRunning = true
        head.planned = planned
        head.caseCount = planned?.count
        return try text(head, redaction())
    }

    private func head(of report: RunReport) -> SavedRun.Head {
        let redaction = redaction()
        var clean = report
        clean.target = redaction.text(report.target)
        clean.notes = report.notes.map(redaction.text)
        clean.seed = redaction.words(report.seed)
        return SavedRun.Head(clean, profile: profile.redacted(by: profileRedaction))
    }

    /// The values that were found under secret names, to be found elsewhere as well.
    private final class Finds {
        var values: Set<String> = []
    }

    private func redaction(
        known: KnownSecrets? = nil,
        isHarmless: @escaping (String) -> Bool = { _ in false },
        found: @escaping (String) -> Void = { _ in }
    ) -> Redaction {
        Redaction(
            known: known ?? self.known,
            kind: Redaction.lookup(declared.names),
            isHarmless: isHarmless,
            mask: { _, value in
                found(value)
                return Self.mark(value, key)
            }
        )
    }

    /// The redaction of a profile; a template such as `{{port}}` is not a secret.
    private var profileRedaction: Redaction {
        redaction(isHarmless: { !SecretDeclaration.isLiteral($0) })
    }

    /// The kind is left out: the same value may stand under two names.
    private static func mark(_ value: String, _ key: UInt64) -> String {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(value)
        return "‹masked:" + String(UInt(bitPattern: hasher.finalize()), radix: 16) + "›"
    }

    /// One line of JSON; every text in it is looked at by its looks once more.
    private func text(_ value: some Encodable, _ redaction: Redaction) throws -> String {
        try JSONValue(encoding: value).mapLeaves { leaf in
            leaf.string.map { .string(redaction.words($0)) } ?? leaf
        }.text
    }

    /// The line of one case.
    package func line(_ result: CaseResult) throws -> String {
        guard let evidence = result.evidence else {
            return try text(bare(result, redaction()), redaction())
        }
        let made = MadeUpValues(evidence)
        let finds = Finds()
        let first = redaction(isHarmless: made.contains) { finds.values.insert($0) }
        var entry = SavedRun.Entry(result)
        entry.note = result.note.map(first.text)
        entry.subject = evidence.subject.redacted(by: first)
        entry.twins = evidence.twins.map { $0.redacted(by: first) }
        entry.sight = evidence.sight.redacted(by: first)
        var everywhere = known
        for value in finds.values.sorted() where SecretDeclaration.isDistinct(value) {
            everywhere.add(value, Self.mark(value, key), isKept: true)
        }
        let second = redaction(known: everywhere, isHarmless: made.contains)
        let line = try text(entry, second)
        return isJudgedAlike(line, evidence)
            ? line : try text(bare(result, second), second)
    }

    /// Without its evidence: as it was judged, and never judged again.
    private func bare(_ result: CaseResult, _ redaction: Redaction) -> SavedRun.Entry {
        var result = result.redacted(by: redaction)
        result.evidence = nil
        return SavedRun.Entry(result)
    }

    private func isJudgedAlike(_ line: String, _ evidence: CaseEvidence) -> Bool {
        let entry = try? JSONValue(parsing: Array(line.utf8), options: SavedRun.options)
            .decoded(as: SavedRun.Entry.self)
        guard let masked = entry?.evidence(readProfile) else { return false }
        let (verdict, findings) = Judge.judge(evidence)
        let (again, same) = Judge.judge(masked)
        return verdict == again && findings.map(\.code) == same.map(\.code)
    }
}

extension RunRecord {
    fileprivate func redacted(by redaction: Redaction) -> RunRecord {
        var copy = self
        copy.exchanges = exchanges.map(redaction.exchange)
        copy.backendExit = backendExit.map(redaction.text)
        return copy
    }
}

extension RunRecord.Sight {
    fileprivate func redacted(by redaction: Redaction) -> RunRecord.Sight {
        var copy = self
        copy.plainAnswer = plainAnswer.map(redaction.text)
        copy.nobody = nobody?.mapValues(redaction.json)
        return copy
    }
}

/// What a run made up itself, from the name that stands in the file beside it: no secret of anybody.
private struct MadeUpValues {
    private var values: Set<String> = []

    /// Longer texts of a contract are no names.
    private static let nameLengthMax = 40

    init(_ evidence: CaseEvidence) {
        let contract = (try? JSONValue(encoding: evidence.plan.contract)) ?? .null
        var names = Set(evidence.plan.subject.users)
        Self.collect(contract, into: &names)
        for record in [evidence.subject] + evidence.twins {
            var templates = TemplateValues(namespace: record.namespace, base: record.base)
            for name in names {
                values.insert(record.namespace.id(of: name))
                values.insert(record.namespace.accountID(of: name))
                values.insert(record.namespace.password(of: name))
                values.insert(record.namespace.installID(of: name))
                values.insert(templates.fill("{{some.\(name)}}"))
            }
        }
    }

    /// Everything in a contract that may name a user, an account or a made-up value.
    private static func collect(_ value: JSONValue, into names: inout Set<String>) {
        switch value {
        case .object(let object):
            for member in object.members {
                names.insert(member.key)
                collect(member.value, into: &names)
            }
        case .array(let elements): for element in elements { collect(element, into: &names) }
        case .string(let text):
            if text.utf8.count <= nameLengthMax { names.insert(text) }
            for part in text.split(separator: "{{").dropFirst() {
                let inside = part.prefix { $0 != "}" }
                if let dot = inside.firstIndex(of: ".") {
                    names.insert(String(inside[inside.index(after: dot)...]))
                }
            }
        case .null, .bool, .number: break
        }
    }

    func contains(_ value: String) -> Bool { values.contains(value) }
}
