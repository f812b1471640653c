internal import Conformance

/// Writes a customer history as a `.history` file that people can read and edit, and reads such
/// files.
///
/// ```
/// history 1
/// person ada registered
/// operation 0 -2d ada purchase product=premium_monthly store=APP_STORE
/// operation 1 -1d ada cancel product=premium_monthly quiet
/// fault 1.0 delayed 2
/// ```
package enum LifeText {
    /// The version of the `.history` format.
    ///
    /// A new version means that files of older versions have another meaning.
    package static let version = 1
    package static let fileEnding = "history"
    /// The maximum number of operations in one file.
    private static let actsMax = 1000

    /// The first error in a `.history` file, with its line number.
    package struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let problem: String
        /// Whether the only error is that the file has another version of the format.
        package var isOfAnotherVersion = false

        package var description: String { "line \(line): \(problem)" }
    }

    // MARK: Writing

    package static func text(_ life: Life) -> String {
        var lines = ["history \(version)"]
        for person in life.people {
            lines.append("person \(person.name) \(person.arrival.rawValue)")
        }
        if life.hasTwin { lines.append("baseline") }
        for step in life.steps { lines.append(line(step)) }
        for mishap in life.mishaps {
            lines.append("fault \(mishap.act).\(mishap.event) \(words(mishap.disturbance))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ step: Life.Step) -> String {
        let act = step.act
        var words = ["operation", "\(step.id)", act.time.contractText, act.user, act.kind.rawValue]
        let values: [(String, String?)] = [
            ("from", act.from), ("also", act.also), ("product", act.product),
            ("to", act.newProduct), ("store", act.store), ("environment", act.environment),
            ("period", act.period),
            ("reason", act.reason), ("span", act.span?.unsignedText), ("type", act.type),
            ("known-by", act.knownBy?.rawValue),
        ]
        for (key, value) in values { if let value { words.append("\(key)=\(value)") } }
        if act.isDeferred { words.append("deferred") }
        if step.isQuietPoint { words.append("quiet") }
        return words.joined(separator: " ")
    }

    private static func words(_ disturbance: Disturbance) -> String {
        let kind = disturbance.kind.rawValue
        return switch disturbance {
        case .copies(let count), .together(let count), .again(after: let count),
            .late(by: let count), .answersLost(let count), .requestsCut(let count),
            .hangUps(let count):
            "\(kind) \(count)"
        case .pushFails(let answer), .readFails(let answer): "\(kind) \(answer.spelling)"
        case .restart(let signal): "\(kind) \(signal.rawValue)"
        case .crash(let crash): "\(kind) \(crash.signal.rawValue) \(crash.moment.rawValue)"
        case .unknownType, .unknownFields, .shuffled, .register, .overlap, .meanwhile: kind
        }
    }

    // MARK: Reading

    /// Reads a customer history from the content of a file.
    ///
    /// - Parameter text: The content of a `.history` file.
    /// - Returns: The history. It may still be impossible in real stores.
    /// - Throws: An error with the number of the first invalid line and the valid forms of this
    ///   line.
    package static func life(_ text: String) throws(ParseError) -> Life {
        var life = Life(people: [], steps: [])
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let head = lines.first.map(String.init) ?? ""
        guard head == "history \(version)" else {
            let words = head.split(separator: " ")
            let isLife = words.count == 2 && words[0] == "history" && Int(words[1]) != nil
            throw ParseError(
                line: 1,
                problem: isLife
                    ? "the first line is '\(head)', not 'history \(version)': another version of Assay wrote the file"
                    : "the first line of the file must be 'history \(version)'",
                isOfAnotherVersion: isLife
            )
        }
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            do throws(Misread) {
                try read(line.split(separator: " ").map(String.init), into: &life)
            } catch {
                throw ParseError(line: index + 1, problem: error.problem)
            }
        }
        guard !life.steps.isEmpty, life.steps.count <= actsMax else {
            let problem =
                life.steps.isEmpty
                ? "the history has no operation; add a line 'operation 0 -2d NAME purchase'"
                : "the history has more than \(actsMax) operations"
            throw ParseError(line: lines.count, problem: problem)
        }
        if let problem = life.strangeName { throw ParseError(line: lines.count, problem: problem) }
        return life
    }

    private struct Misread: Error {
        let problem: String
    }

    private static func read(_ words: [String], into life: inout Life) throws(Misread) {
        switch words.first {
        case "person":
            guard words.count == 3, let arrival = Life.Arrival(rawValue: words[2]) else {
                throw Misread(problem: "write 'person NAME registered' or 'person NAME unknown'")
            }
            guard isName(words[1]), life.person(words[1]) == nil else {
                throw Misread(
                    problem: "the name '\(words[1])' is already used, or has characters other than "
                        + "letters, digits, '-', '_' and '.'"
                )
            }
            life.people.append(Life.Person(words[1], arrival))
        case "baseline": life.hasTwin = true
        case "operation": life.steps.append(try step(words))
        case "fault": life.mishaps.append(try mishap(words))
        default:
            throw Misread(
                problem:
                    "a line cannot begin with '\(words.first ?? "")'; use person, baseline, operation or fault"
            )
        }
    }

    /// Returns whether a string consists only of ASCII letters, digits and `-_.`, so that a
    /// contract reads the string as a name.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    }

    private static func step(_ words: [String]) throws(Misread) -> Life.Step {
        guard words.count >= 5, let id = Int(words[1]),
            let time = Duration(contractText: words[2])
        else {
            throw Misread(
                problem: "write 'operation NUMBER TIME NAME KIND …', with a time such as "
                    + "-2d or -90m"
            )
        }
        guard let kind = Act.Kind(rawValue: words[4]) else {
            let all = Act.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Misread(problem: "'\(words[4])' is not an operation; use one of \(all)")
        }
        var step = Life.Step(id: id, act: Act(kind, words[3], at: time), isQuietPoint: false)
        for word in words.dropFirst(5) {
            if word == "quiet" {
                step.isQuietPoint = true
            } else if word == "deferred" {
                step.act.isDeferred = true
            } else {
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2, isName(parts[1].filter { $0 != ":" }),
                    step.act.set(parts[0], to: parts[1])
                else {
                    throw Misread(
                        problem:
                            "'\(word)' is not a valid detail of an operation; write KEY=VALUE, such as span=7d"
                    )
                }
            }
        }
        return step
    }

    private static func mishap(_ words: [String]) throws(Misread) -> Life.Mishap {
        let place = words.count > 1 ? words[1].split(separator: ".").compactMap { Int($0) } : []
        guard place.count == 2, words.count >= 3,
            let disturbance = Disturbance(words: Array(words.dropFirst(2)))
        else {
            throw Misread(
                problem: "write 'fault OPERATION.EVENT KIND …', such as 'fault 1.0 delayed 2'"
            )
        }
        return Life.Mishap(act: place[0], event: place[1], disturbance)
    }
}

extension Life {
    /// The error for the first user name that an operation contains and no `person` line declares;
    /// nil without such a name.
    fileprivate var strangeName: String? {
        let names = steps.flatMap(\.act.people)
        return names.first { person($0) == nil }.map {
            "'\($0)' has an operation but no person line; add 'person \($0) registered'"
        }
    }
}

extension Act {
    /// Sets a detail of the operation from a `key=value` pair.
    ///
    /// Returns false when the key does not exist or does not accept the value.
    fileprivate mutating func set(_ key: String, to value: String) -> Bool {
        switch key {
        case "from": from = value
        case "also": also = value
        case "product": product = value
        case "to": newProduct = value
        case "store": store = value
        case "environment": environment = value
        case "period": period = value
        case "reason": reason = value
        case "type": type = value
        case "span":
            guard let span = Duration(contractText: value) else { return false }
            self.span = span
        case "known-by":
            guard let knownBy = EventSpec.KnownBy(rawValue: value) else { return false }
            self.knownBy = knownBy
        default: return false
        }
        return true
    }
}

extension Disturbance {
    /// Creates a fault from the words of a `fault` line; nil when the words are not a fault.
    fileprivate init?(words: [String]) {
        guard let kind = words.first.flatMap(Kind.init) else { return nil }
        let rest = Array(words.dropFirst())
        let number =
            rest.count == 1 ? Int(rest[0]).flatMap { (1...100).contains($0) ? $0 : nil } : nil
        let answer = ProviderPlan.Answer(spelling: rest.joined(separator: " "))
        let signal = rest.first.flatMap(Restart.Signal.init)
        let disturbance: Disturbance? =
            switch kind {
            case .copies: number.map(Disturbance.copies)
            case .together: number.map(Disturbance.together)
            case .again: number.map(Disturbance.again)
            case .late: number.map(Disturbance.late)
            case .answersLost: number.map(Disturbance.answersLost)
            case .requestsCut: number.map(Disturbance.requestsCut)
            case .hangUps: number.map(Disturbance.hangUps)
            case .pushFails: answer.map(Disturbance.pushFails)
            case .readFails: answer.map(Disturbance.readFails)
            case .unknownType: rest.isEmpty ? .unknownType : nil
            case .unknownFields: rest.isEmpty ? .unknownFields : nil
            case .shuffled: rest.isEmpty ? .shuffled : nil
            case .register: rest.isEmpty ? .register : nil
            case .overlap: rest.isEmpty ? .overlap : nil
            case .meanwhile: rest.isEmpty ? .meanwhile : nil
            case .restart: rest.count == 1 ? signal.map(Disturbance.restart) : nil
            case .crash:
                if rest.count == 2, let signal, let moment = Crash.Moment(rawValue: rest[1]) {
                    .crash(Crash(signal: signal, moment: moment))
                } else {
                    nil
                }
            }
        guard let disturbance else { return nil }
        self = disturbance
    }
}
