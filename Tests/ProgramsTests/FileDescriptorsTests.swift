import Programs
import Testing

@Suite("Descriptors")
struct DescriptorsTests {
    @Test(
        "fewer cases and backends run at once with few descriptors",
        arguments: [
            (64, 1, 1), (96, 3, 1), (128, 6, 1), (256, 8, 2), (1024, 8, 5), (0, 1, 1),
        ]
    )
    func counts(limit: Int, cases: Int, backends: Int) {
        #expect(FileDescriptors.caseCountMax(8, limit: limit) == cases)
        #expect(FileDescriptors.backendCountMax(5, limit: limit) == backends)
    }

    @Test func `Assay's own variables are not passed on`() {
        let environment = ["ASSAY_LIVE_KEY": "x", "ASSAY_": "x", "PATH": "/bin", "MY_ASSAY_": "y"]
        #expect(
            ProgramCommand.withoutAssayVariables(environment) == ["PATH": "/bin", "MY_ASSAY_": "y"]
        )
    }
}
