// Whether Python ends in the middle of calls.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/gil.hpp"

namespace cobre::bindings {

// A call that may release the GIL; made and destroyed with the GIL held, which guards the count.
class CallUnderWay {
public:
    CallUnderWay() noexcept { ++count; }
    ~CallUnderWay() { --count; }
    CallUnderWay(const CallUnderWay&) = delete;
    CallUnderWay& operator=(const CallUnderWay&) = delete;

    // What a daemon thread holds when Python ends, inside a call or not, stays for ever. That is no mistake in the
    // bindings, and nanobind must not tell the user so.
    static void settle_at_exit() {
        nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function([] {
            Gil::begin_end();
            if (count > 0 || have_other_threads()) nanobind::set_leak_warnings(false);
        }));
    }

private:
    static bool have_other_threads() noexcept {
        return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
    }

    inline static int count = 0;
};

}  // namespace cobre::bindings
