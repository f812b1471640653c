package import Contracts
package import Grammar

/// Parses a profile (`assay.yaml`).
///
/// In secrets, environment variables replace `${NAME}` and `${NAME:-default}`.
package enum ProfileParser {
    package static func parse(
        _ text: String,
        path: String,
        environment: [String: String]
    ) -> Result<Profile, ContractErrors> {
        let root: LocatedNode
        do throws(ContractError) {
            root = try LocatedNode(parsing: text, path: path)
        } catch {
            return .failure(ContractErrors([error]))
        }
        var reader = NodeReader()
        reader.environment = environment
        let profile = Profile.grammar.read(root, &reader)
        let templates = TemplateChecks(profile: root, lines: LocatedNode.lines(of: text))
        let errors = reader.errors + templates.errors
        guard let profile, errors.isEmpty else { return .failure(ContractErrors(errors)) }
        return .success(profile)
    }
}
