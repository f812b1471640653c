package import Providers

/// A provider whose purchases generated histories contain.
package protocol HistorySeller: Provider {
    static var sellerModel: any SellerModel.Type { get }
}

extension SellerTable {
    /// The table of the sellers among the providers of the current task.
    package static var all: SellerTable { tableOfProviders.value }

    private static let tableOfProviders = TableDerived { providers in
        let models = providers.entries.compactMap {
            ($0.type as? any HistorySeller.Type)?.sellerModel
        }
        return SellerTable(models)
    }
}

/// The only lines outside a service's own folder that name the service.
extension ServiceError {
    /// The errors of all services that a backend calls.
    static let all: [ServiceError] = [.oneSignal, .revenueCat]
}
