#include "lp/highs_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <stdexcept>
#include <vector>

namespace cobre::lp {

namespace {

constexpr const char* remedy = "\n  fix: python -m pip install --upgrade 'highspy>=1.15'";

int note_candidate(dl_phdr_info* object, std::size_t, void* data) {
    const std::string path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
    const std::size_t slash = path.find_last_of('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    auto& found = *static_cast<std::vector<std::string>*>(data);
    // The library of its own first; a highspy that was linked statically may offer the interface itself.
    if (name.starts_with("libhighs")) found.insert(found.begin(), path);
    else if (path.find("/highspy/") != std::string::npos) found.push_back(path);
    return 0;
}

template <class Function>
void find(void* handle, const std::string& path, const char* name, Function& function) {
    void* symbol = dlsym(handle, name);
    if (symbol == nullptr) throw std::runtime_error(path + " has no function " + name + remedy);
    function = reinterpret_cast<Function>(symbol);
}

}  // namespace

std::shared_ptr<const HighsLibrary> HighsLibrary::from_mapped() {
    std::vector<std::string> candidates;
    dl_iterate_phdr(&note_candidate, &candidates);
    std::shared_ptr<HighsLibrary> library(new HighsLibrary());
    for (const std::string& path : candidates) {
        void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (handle == nullptr) continue;
        if (dlsym(handle, "Highs_run") != nullptr) {
            library->handle_ = handle;
            library->path = path;
            break;
        }
        dlclose(handle);
    }
    if (library->handle_ == nullptr)
        throw std::runtime_error(
            std::string("this installation of highspy has no shared library with HiGHS's C interface") + remedy);

    HighsLibrary& l = *library;
    const auto get = [&l](const char* name, auto& function) { find(l.handle_, l.path, name, function); };
    get("Highs_create", l.create);
    get("Highs_destroy", l.destroy);
    get("Highs_version", l.version);
    get("Highs_getSizeofHighsInt", l.sizeof_int);
    get("Highs_setBoolOptionValue", l.set_bool_option);
    get("Highs_setIntOptionValue", l.set_int_option);
    get("Highs_setDoubleOptionValue", l.set_double_option);
    get("Highs_setStringOptionValue", l.set_string_option);
    get("Highs_passLp", l.pass_lp);
    get("Highs_addRows", l.add_rows);
    get("Highs_deleteRowsBySet", l.delete_rows);
    get("Highs_changeRowsBoundsBySet", l.change_row_bounds);
    get("Highs_changeColsBoundsBySet", l.change_column_bounds);
    get("Highs_changeColsCostBySet", l.change_column_costs);
    get("Highs_clearSolver", l.clear_solver);
    get("Highs_setBasis", l.set_basis);
    get("Highs_getBasis", l.get_basis);
    get("Highs_run", l.run);
    get("Highs_getModelStatus", l.get_model_status);
    get("Highs_getSolution", l.get_solution);
    get("Highs_getIntInfoValue", l.get_int_info);
    get("Highs_getRunTime", l.get_run_time);
    l.version_text = l.version();

    void* probe = l.create();
    const HighsInt bytes = l.sizeof_int(probe);
    l.destroy(probe);
    if (bytes != static_cast<HighsInt>(sizeof(HighsInt)))
        throw std::runtime_error(l.path + " (HiGHS " + l.version_text + ") was built with integers of " +
                                 std::to_string(bytes) + " bytes, and this needs 4\n  fix: install the highspy " +
                                 "wheel from PyPI: python -m pip install --force-reinstall highspy");
    return library;
}

HighsLibrary::~HighsLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
}

}  // namespace cobre::lp
