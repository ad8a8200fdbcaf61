// A borrowed callable: no allocation, no ownership, one indirect call. For slow paths that must not be templates.
#pragma once

#include <type_traits>
#include <utility>

namespace cobre::shm {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
public:
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
    FunctionRef(Callable&& callable) noexcept  // NOLINT: borrowing is meant to look like passing the callable
        : object_(const_cast<void*>(static_cast<const void*>(&callable))),
          call_([](void* object, Arguments... arguments) -> Result {
              return (*static_cast<std::remove_reference_t<Callable>*>(object))(
                  std::forward<Arguments>(arguments)...);
          }) {}

    Result operator()(Arguments... arguments) const {
        return call_(object_, std::forward<Arguments>(arguments)...);
    }

private:
    void* object_;
    Result (*call_)(void*, Arguments...);
};

}  // namespace cobre::shm
