internal import Conformance
internal import ContractFiles
internal import Exploration
internal import Foundation
internal import Programs

/// The folder in which campaigns leave what is worth beginning with, for later ones and for others.
///
/// `lives` holds one life a file, `phones` those of an app as the contracts that they are,
/// `coverage.json` how often everything was played, `found` the contracts of what failed.
struct LifeCorpus: Sendable {
    let folder: String

    /// What lay in it.
    struct Contents: Sendable {
        var lives: [Life] = []
        var phones: [PhoneLife] = []
        var coverage = LifeCoverage()
        /// Files that another version wrote: they are left as they are.
        var strange: [String] = []
    }

    private var livesFolder: String { folder + "/lives" }
    private var phonesFolder: String { folder + "/phones" }
    private var coveragePath: String { folder + "/coverage.json" }
    /// Beside one that another version wrote, which is left as it is.
    private var ownCoveragePath: String { folder + "/coverage-\(LifeText.version).json" }
    /// Where contracts of what failed are written.
    var foundFolder: String { folder }

    /// Whether a campaign has left anything there.
    var exists: Bool { FileManager.default.fileExists(atPath: livesFolder) }

    // MARK: Reading

    /// - Returns: Its lives in the order of their names; nothing where there is no such folder yet.
    /// - Throws: A failure where a file of this version cannot be read.
    func contents() throws -> Contents {
        var contents = Contents()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: livesFolder)) ?? []
        for name in names.sorted() where name.hasSuffix("." + LifeText.fileEnding) {
            let path = livesFolder + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Failure(.usage, "cannot read '\(path)'")
            }
            let text = String(decoding: data, as: UTF8.self)
            do throws(LifeText.ParseError) {
                contents.lives.append(try LifeText.life(text))
            } catch {
                guard error.isOfAnotherVersion else {
                    throw Failure(.unparsable, "'\(path)': \(error)")
                }
                contents.strange.append(path)
            }
        }
        contents.phones = try phones()
        for path in [coveragePath, ownCoveragePath] {
            guard let data = FileManager.default.contents(atPath: path) else { continue }
            if let coverage = try coverage(data, path) {
                contents.coverage = coverage
            } else {
                contents.strange.append(path)
            }
        }
        return contents
    }

    private func phones() throws -> [PhoneLife] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: phonesFolder)) ?? []
        return try names.sorted().filter { $0.hasSuffix(".yaml") }.flatMap { name in
            let path = phonesFolder + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Failure(.usage, "cannot read '\(path)'")
            }
            let text = String(decoding: data, as: UTF8.self)
            switch ContractParser.parse(text, path: path, id: "phones/" + name.dropLast(5)) {
            case .success(let contracts): return contracts.map(PhoneScript.life)
            case .failure(let error): throw Failure(.unparsable, "\(error)")
            }
        }
    }

    /// Nil when another version wrote it.
    private func coverage(_ data: Data, _ path: String) throws -> LifeCoverage? {
        guard let value = try? JSONValue(parsing: Array(data)),
            let counts = value["counts"]?.object
        else { throw Failure(.unparsable, "'\(path)' holds no counts; remove it") }
        guard value["life"]?.int64 == Int64(LifeText.version) else { return nil }
        var numbers: [String: Int] = [:]
        for member in counts.members {
            guard let count = member.value.int64, count > 0 else {
                throw Failure(.unparsable, "'\(path)': '\(member.key)' is no count")
            }
            numbers[member.key] = Int(count)
        }
        return LifeCoverage(counts: numbers)
    }

    /// Where this version writes its counts.
    private var coverageTarget: String {
        guard let data = FileManager.default.contents(atPath: coveragePath),
            (try? coverage(data, coveragePath)) == nil
        else { return coveragePath }
        return ownCoveragePath
    }

    // MARK: Writing

    /// Checks that something can be written there, before a long run.
    ///
    /// - Throws: A failure of usage that says why not.
    func prepare() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: livesFolder,
                withIntermediateDirectories: true
            )
            try write("", to: folder + "/.writable")
            try FileManager.default.removeItem(atPath: folder + "/.writable")
        } catch {
            throw Failure(
                .usage,
                "cannot write the corpus '\(folder)': \(error.plainReason)"
            )
        }
    }

    /// Adds a history that is not there yet.
    func add(_ story: Story) throws {
        switch story {
        case .people(let life): try add(life)
        case .phone(let life): try add(life)
        }
    }

    /// Replaces the counts.
    func write(_ coverage: LifeCoverage) throws {
        let counts = coverage.counts.sorted { $0.key < $1.key }.map {
            JSONObject.Member(key: $0.key, value: .integer(Int64($0.value)))
        }
        let value: JSONValue = [
            "life": .integer(Int64(LifeText.version)),
            "counts": .object(JSONObject(members: counts)),
        ]
        try write(value.prettyText + "\n", to: coverageTarget)
    }

    private func add(_ life: Life) throws {
        let text = LifeText.text(life)
        let path = "\(livesFolder)/\(Self.name(text)).\(LifeText.fileEnding)"
        if !FileManager.default.fileExists(atPath: path) { try write(text, to: path) }
    }

    private func add(_ life: PhoneLife) throws {
        func text(_ id: String) -> String? {
            PhoneScript(life, id: id).map { ContractWriter.text($0.contract, id: id) }
        }
        // A life that was drawn can happen.
        guard let name = text("phones/life").map(Self.name), let text = text("phones/\(name)")
        else { return }
        let path = "\(phonesFolder)/\(name).yaml"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.createDirectory(
            atPath: phonesFolder,
            withIntermediateDirectories: true
        )
        try write(text, to: path)
    }

    /// Takes over the contracts of what others have found; a story has the same name wherever it was
    /// found, and of two that tell it the shorter one stays.
    ///
    /// - Returns: How many there are.
    func takeFound(from others: [LifeCorpus]) throws -> Int {
        var stories: [String: String] = [:]
        for folder in (others + [self]).map({ $0.folder + "/found" }) {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            for name in names.sorted() where name.hasSuffix(".yaml") {
                let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
                if let known = stories[name], known.count <= text.count { continue }
                stories[name] = text
            }
        }
        guard !stories.isEmpty else { return 0 }
        try FileManager.default.createDirectory(
            atPath: folder + "/found",
            withIntermediateDirectories: true
        )
        for (name, text) in stories.sorted(by: { $0.key < $1.key }) {
            try write(text, to: "\(folder)/found/\(name)")
        }
        return stories.count
    }

    private func write(_ text: String, to path: String) throws {
        try OutputFile(path).write(text)
    }

    /// The same for the same life, wherever it was found.
    private static func name(_ text: String) -> String {
        var generator = SeededGenerator(seed: 0, text: text)
        let digits = String(generator.next(), radix: 16)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }
}
