import Contracts
import Grammar
import Testing
import TestSupport
import Values

@Suite("Scopes of templates")
struct TemplateScopeTests {
    @Test func `ten thousand mutilated templates are read, and written they read as the same`() {
        var generator = SeededGenerator(seed: 13)
        let scope = TemplateScope(.answer, names: SampleContract.names)
        for _ in 0..<10_000 {
            let text = TemplateTests.mutilated(&generator)
            let template = Template(text)
            #expect(Template(template.description) == template, "\(text)")
            #expect(template.replacing { _ in nil } == template)
            for problem in scope.problems(in: text) {
                let spelling = text.dropFirst(problem.offset).prefix(problem.length)
                #expect(spelling.hasPrefix("{{"), "\(text)")
                #expect(problem.isUnclosed || spelling.hasSuffix("}}"), "\(text)")
            }
        }
    }

    @Test(
        "the nearest valid name is suggested for an invalid name",
        arguments: [
            (TemplateScope.ContractSlot.request, "usr.ada", "user.ada"),
            (.request, "user.adda", "user.ada"), (.request, "nw-1h", "now-1h"),
            (.claim, "now-1h", "seconds-1h"), (.request, "seconds-1h", "now-1h"),
            (.answer, "any.uid", "any.uuid"), (.none, "copeis-1", "copies-1"),
        ]
    )
    func suggests(place: TemplateScope.ContractSlot, name: String, wanted: String) {
        let problem = TemplateScope(place, names: SampleContract.names).problems(in: "{{\(name)}}")
            .first
        #expect(problem?.nearest == wanted)
    }

    @Test func `unclosed template braces are reported`() {
        let scope = TemplateScope(.request, names: SampleContract.names)
        #expect(scope.problems(in: "a {{user.ada").map(\.isUnclosed) == [true])
        #expect(scope.problems(in: "{{{{user.ada").isEmpty)
    }
}
