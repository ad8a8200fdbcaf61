#include "output/parquet.hpp"

#include <bit>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "output/compact_thrift.hpp"
#include "output/parquet_numbers.hpp"

namespace cobre::output {

namespace {

template <class T>
void append_bytes(std::string& out, std::span<const T> values) {
    static_assert(std::endian::native == std::endian::little, "the values of a page are little-endian");
    if (!values.empty()) out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// Runs of the hybrid of run lengths and packed bits: one run of equal values, or all values packed.
void append_run(std::string& out, std::size_t count, std::uint32_t value, unsigned width) {
    append_varint(out, std::uint64_t{count} << 1);
    for (unsigned shift = 0; shift < width; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

template <class T>
void append_packed(std::string& out, std::span<const T> values, unsigned width) {
    append_varint(out, (values.size() + 7) / 8 << 1 | 1);
    const std::size_t end = out.size() + (values.size() + 7) / 8 * width;
    std::uint64_t bits = 0;
    unsigned held = 0;
    for (const T value : values) {
        bits |= std::uint64_t{value} << held;
        for (held += width; held >= 8; held -= 8, bits >>= 8) out.push_back(static_cast<char>(bits));
    }
    if (held > 0) out.push_back(static_cast<char>(bits));
    out.resize(end, '\0');
}

void append_levels(std::string& out, std::span<const std::uint8_t> is_valid, std::size_t rows,
                   std::size_t present) {
    const std::size_t begin = out.size();
    out.append(4, '\0');
    if (present == rows || present == 0) {
        append_run(out, rows, present == rows, 1);
    } else {
        append_packed(out, is_valid, 1);
    }
    const auto size = static_cast<std::uint32_t>(out.size() - begin - 4);
    std::memcpy(out.data() + begin, &size, sizeof size);
}

void append_page(std::string& out, std::int64_t kind, std::size_t count, std::int64_t encoding,
                 const std::string& body) {
    ThriftStruct header(out);
    header.i32(1, kind);
    header.i32(2, static_cast<std::int64_t>(body.size()));
    header.i32(3, static_cast<std::int64_t>(body.size()));
    ThriftStruct detail = header.record(kind == DATA_PAGE ? 5 : 7);
    detail.i32(1, static_cast<std::int64_t>(count));
    page_encodings(detail, kind, encoding);
    header.end();
    out.append(body);
}

template <class T>
struct Dictionary {
    std::vector<T> values;
    std::vector<std::uint16_t> indices;
};

template <class T>
bool is_constant(std::span<const T> values) {
    return !values.empty() && std::memcmp(values.data(), values.data() + 1, values.size_bytes() - sizeof(T)) == 0;
}

// Distinct values in the order in which they appear; nothing where there are too many for it to pay.
template <class T>
std::optional<Dictionary<T>> dictionary_of(std::span<const T> values) {
    using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    std::unordered_map<Key, std::uint16_t> places;
    Dictionary<T> found;
    if (values.empty()) return std::nullopt;
    for (const T value : values) {
        const auto [place, is_new] =
            places.try_emplace(std::bit_cast<Key>(value), static_cast<std::uint16_t>(found.values.size()));
        if (is_new) found.values.push_back(value);
        if (found.values.size() > largest_dictionary || found.values.size() * 2 > values.size())
            return std::nullopt;
        found.indices.push_back(place->second);
    }
    return found;
}

template <class T>
class Chunk {
public:
    Chunk(std::string& out, std::string levels, std::size_t rows)
        : out_(out), body_(std::move(levels)), pages_{.rows = rows} {}

    Pages append(std::span<const T> present, Effort effort) {
        const std::size_t begin = out_.size();
        if constexpr (sizeof(T) == 1) {
            append_packed_without_header(present);
            append_page(out_, DATA_PAGE, pages_.rows, PLAIN, body_);
        } else if (is_constant(present)) {
            append_dictionary_page(present.first(1));
            body_.push_back(1);
            append_run(body_, present.size(), 0, 1);
            append_page(out_, DATA_PAGE, pages_.rows, RLE_DICTIONARY, body_);
        } else if (const auto found = effort == Effort::dictionary ? dictionary_of(present) : std::nullopt) {
            const auto width = static_cast<unsigned>(std::bit_width(found->values.size() - 1));
            append_dictionary_page(std::span<const T>(found->values));
            body_.push_back(static_cast<char>(width));
            append_packed(body_, std::span<const std::uint16_t>(found->indices), width);
            append_page(out_, DATA_PAGE, pages_.rows, RLE_DICTIONARY, body_);
        } else {
            append_bytes(body_, present);
            append_page(out_, DATA_PAGE, pages_.rows, PLAIN, body_);
        }
        pages_.bytes = out_.size() - begin;
        return pages_;
    }

private:
    void append_packed_without_header(std::span<const T> present) {
        std::string packed;
        append_packed(packed, present, 1);
        std::size_t header = 1;
        while ((packed[header - 1] & '\x80') != 0) ++header;
        body_.append(packed, header, (present.size() + 7) / 8);
    }
    void append_dictionary_page(std::span<const T> values) {
        const std::size_t begin = out_.size();
        std::string body;
        append_bytes(body, values);
        append_page(out_, DICTIONARY_PAGE, values.size(), PLAIN, body);
        pages_.dictionary_bytes = out_.size() - begin;
    }

    std::string& out_;
    std::string body_;
    Pages pages_;
};

template <class T>
std::vector<T> present_of(std::span<const T> values, std::span<const std::uint8_t> is_valid) {
    std::vector<T> present;
    present.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_valid[i] != 0) present.push_back(values[i]);
    }
    return present;
}

std::int64_t physical_type(const Values& values) {
    constexpr std::int64_t types[] = {DOUBLE, INT32, BOOLEAN};
    return types[values.index()];
}

void append_schema(ThriftStruct& file, std::span<const Column> columns, std::span<const Values> values) {
    file.list(2, ThriftStruct::Element::record, columns.size() + 1);
    ThriftStruct root = file.append_record();
    root.text(4, "schema");
    root.i32(5, static_cast<std::int64_t>(columns.size()));
    root.end();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        ThriftStruct element = file.append_record();
        element.i32(1, physical_type(values[i]));
        element.i32(3, columns[i].is_nullable ? OPTIONAL : REQUIRED);
        element.text(4, columns[i].name);
        if (physical_type(values[i]) == INT32) {
            const int bits = columns[i].bits;
            element.i32(6, bits == 0 ? DATE : bits == 8 ? INT_8 : INT_32);
        }
        element.end();
    }
}

void append_chunk(ThriftStruct& group, const Column& column, const Values& values, const Pages& pages,
                  std::size_t offset) {
    const auto at = static_cast<std::int64_t>(offset);
    ThriftStruct chunk = group.append_record();
    chunk.i64(2, at);
    ThriftStruct facts = chunk.record(3);
    facts.i32(1, physical_type(values));
    const bool has_dictionary = pages.dictionary_bytes != 0;
    facts.list(2, ThriftStruct::Element::i32, has_dictionary ? 3 : 2);
    facts.append_i32(PLAIN);
    facts.append_i32(RLE);
    if (has_dictionary) facts.append_i32(RLE_DICTIONARY);
    facts.list(3, ThriftStruct::Element::binary, 1);
    facts.append_text(column.name);
    facts.i32(4, UNCOMPRESSED);
    facts.i64(5, static_cast<std::int64_t>(pages.rows));
    facts.i64(6, static_cast<std::int64_t>(pages.bytes));
    facts.i64(7, static_cast<std::int64_t>(pages.bytes));
    facts.i64(9, at + static_cast<std::int64_t>(pages.dictionary_bytes));
    if (has_dictionary) facts.i64(11, at);
    facts.end();
    chunk.end();
}

}  // namespace

Pages append_pages(std::string& out, const Column& column, const Values& values,
                   std::optional<std::span<const std::uint8_t>> is_valid, Effort effort) {
    return std::visit(
        [&]<class T>(std::span<const T> all) {
            std::string levels;
            std::vector<T> some;
            std::span<const T> present = all;
            if (is_valid) {
                some = present_of(all, *is_valid);
                present = some;
            }
            if (column.is_nullable) {
                append_levels(levels, is_valid.value_or(std::span<const std::uint8_t>()), all.size(),
                              present.size());
            }
            return Chunk<T>(out, std::move(levels), all.size()).append(present, effort);
        },
        values);
}

void append_footer(std::string& out, std::span<const Column> columns, std::span<const Values> values,
                   std::span<const Pages> pages, std::size_t rows) {
    const std::size_t begin = out.size();
    ThriftStruct file(out);
    file.i32(1, 2);
    append_schema(file, columns, values);
    file.i64(3, static_cast<std::int64_t>(rows));
    file.list(4, ThriftStruct::Element::record, 1);
    ThriftStruct group = file.append_record();
    group.list(1, ThriftStruct::Element::record, columns.size());
    std::size_t offset = magic.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        append_chunk(group, columns[i], values[i], pages[i], offset);
        offset += pages[i].bytes;
    }
    group.i64(2, static_cast<std::int64_t>(offset - magic.size()));
    group.i64(3, static_cast<std::int64_t>(rows));
    group.end();
    file.text(6, "cobre");
    file.end();
    const auto size = static_cast<std::uint32_t>(out.size() - begin);
    append_bytes(out, std::span(&size, 1));
    out.append(magic);
}

}  // namespace cobre::output
