internal import Conformance
internal import FakeServers
internal import Providers

/// Creating users and looking at them, the way the profile says.
extension RunExecutor {
    /// Announces the user; the text says what went wrong.
    func register(_ user: String, _ progress: inout Progress) async -> String? {
        let id = progress.namespace.id(of: user)
        let values = ["id": id, "device": progress.namespace.installID(of: user)]
        switch profile.creation {
        case .command(let words):
            do {
                let filled = try words.map { try TextTemplate.fill($0, values) }
                _ = try await CommandRunner.output(of: filled, within: .seconds(30))
                return nil
            } catch {
                return "\(error)"
            }
        case .register:
            let endpoint = profile.endpoints["register"]
            let body: JSONValue = [
                "appUserId": .string(id),
                "deviceId": .string(progress.namespace.installID(of: user)),
                "platform": "ios",
                "source": "new",
                "timestamp": .string(world.now.description),
            ]
            return await create(user, endpoint, body, id: nil, &progress)
        case .request(let endpoint, let body, let pointer):
            do {
                let path = try TextTemplate.fill(
                    endpoint.path,
                    values.mapValues(\.percentEncoded)
                )
                let filled = try body.map { try TextTemplate.fill($0, values) }
                return await create(
                    user,
                    Profile.Endpoint(method: endpoint.method, path: path),
                    filled.map { numeric($0, id: id) },
                    id: pointer,
                    &progress
                )
            } catch {
                return "\(error)"
            }
        }
    }

    /// A backend with integer ids gets them as numbers.
    private func numeric(_ body: JSONValue, id: String) -> JSONValue {
        guard profile.idForm == .integer, let number = Int64(id) else { return body }
        return body.mapLeaves { $0 == .string(id) ? .integer(number) : $0 }
    }

    private func create(
        _ user: String,
        _ endpoint: Profile.Endpoint?,
        _ body: JSONValue?,
        id pointer: JSONPointer?,
        _ progress: inout Progress
    ) async -> String? {
        guard let endpoint else { return "the profile names no endpoint 'register'" }
        let request = HTTPMessage.Request(
            endpoint.method,
            endpoint.path,
            fields: [HTTPMessage.Field("content-type", "application/json")],
            body: body?.bytes ?? []
        )
        let sequence = world.journal.begin(
            exchange(.app, .registration(user: user), request, progress)
        )
        let outcome = await backend.client.send(request, within: .seconds(30))
        world.journal.complete(sequence, outcome)
        switch outcome {
        case .answered(let response) where (200..<300).contains(response.status):
            guard let pointer else { return nil }
            let answer = try? JSONValue(parsing: response.body)
            switch answer?[pointer] {
            case .string(let id): progress.namespace.assign(id, to: user)
            case .number(let id): progress.namespace.assign(id.description, to: user)
            case let other:
                return "\(endpoint.method) \(endpoint.path) answered no id at \(pointer): "
                    + (other?.text ?? "nothing there")
            }
            return nil
        case .answered(let response):
            return "\(endpoint.method) \(endpoint.path) answered \(response.status)"
        case .failed(_, let text): return "\(endpoint.method) \(endpoint.path): \(text)"
        case .pending, .answerLost, .requestCut: return "no answer"
        }
    }

    /// Asks every probe about every user and writes the answers into the journal.
    func probe(_ users: [String], _ progress: Progress) async {
        for user in users {
            for probe in profile.probes {
                let id = progress.namespace.id(of: user)
                switch probe.source {
                case .get(let path): await ask(probe.name, user, path, id, progress)
                case .command(let words): await run(probe.name, user, words, id, progress)
                }
            }
        }
    }

    private func ask(
        _ name: String,
        _ user: String,
        _ path: String,
        _ id: String,
        _ progress: Progress
    ) async {
        // Lint has checked the template's names; a path without them is asked as it stands.
        let target = (try? TextTemplate.fill(path, ["id": id.percentEncoded])) ?? path
        let request = HTTPMessage.Request("GET", target)
        let sequence = world.journal.begin(
            exchange(.assay, .probe(name: name, user: user), request, progress)
        )
        let outcome = await backend.client.send(request, within: .seconds(30))
        world.journal.complete(sequence, outcome)
    }

    private func run(
        _ name: String,
        _ user: String,
        _ words: [String],
        _ id: String,
        _ progress: Progress
    ) async {
        let filled = words.map { (try? TextTemplate.fill($0, ["id": id])) ?? $0 }
        let request = HTTPMessage.Request("RUN", filled.joined(separator: " "))
        let sequence = world.journal.begin(
            exchange(.assay, .probe(name: name, user: user), request, progress)
        )
        do throws(CommandRunner.Failure) {
            let output = try await CommandRunner.output(of: filled, within: .seconds(30))
            // Printing nothing is the command's way to say that there is no such thing.
            let isEmpty = output.allSatisfy { [0x20, 0x0a, 0x0d, 0x09].contains($0) }
            world.journal.complete(
                sequence,
                .answered(HTTPMessage.Response(isEmpty ? 404 : 200, body: output))
            )
        } catch {
            world.journal.complete(sequence, .failed(.closed, error.description))
        }
    }
}
